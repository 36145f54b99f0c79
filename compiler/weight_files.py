"""Files for the weights that text of IR names but does not hold."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..dialects.core.attributes import BlobAttr
from ..dialects.core.errors import InputError
from ..dialects.core.store import MEMORY, Store


def default_folder() -> Path:
    """npuc's folder of weights in the cache of the user: below `XDG_CACHE_HOME` if that is set."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "npuc" / "weights"


def spill_weights(module: ModuleOp, store: Store, folder: str | Path) -> None:
    """Write the weights of a module that only `store` holds to `folder`, and name them there.

    Weights in memory that `store` does not hold stay as they are. `InputError` if the folder cannot
    be written.
    """
    blobs = [
        (op, key, blob)
        for op in module.walk()
        for key, blob in op.properties.items()
        if isinstance(blob, BlobAttr) and blob.uri.data == MEMORY
    ]
    if not blobs:
        return
    try:
        uris = store.spill(Path(folder).resolve())
    except OSError as error:
        raise InputError(
            f"cannot write weights to {folder}",
            why=error.strerror or str(error),
            hint="give npu-translate another folder by --store, or set XDG_CACHE_HOME",
        ) from error
    for op, key, blob in blobs:
        digest = blob.digest.data
        if digest in uris:
            op.properties[key] = BlobAttr.of(blob.stored, digest, uris[digest], blob.recipe)
