"""What fuses, what does not, and the reason each group gives."""

from typing import ClassVar

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.dialects.core.errors import InputError
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.target.attributes import MACHINE, MachineAttr
from npuc.dialects.target.machine import load
from npuc.dialects.tensor.ops import GroupOp
from npuc.passes.analysis.iteration_space import GroupSpace
from npuc.passes.graph_to_tensor.convert_graph_to_tensor import ConvertGraphToTensorPass
from npuc.passes.tensor.fusion_plan import MAX_OPS, MAX_OUTPUTS
from npuc.passes.tensor.fusion_rules import FusionRule
from npuc.passes.tensor.tensor_canonicalize import TensorCanonicalizePass
from npuc.passes.tensor.tensor_fuse_groups import TensorFuseGroupsPass


def fused(
    text: str, pass_: TensorFuseGroupsPass | None = None, machine: str | None = None
) -> list[GroupOp]:
    """The groups made of a graph; each must have an iteration space."""
    context = make_context()
    module = NpucParser(context, text).parse_module()
    assert isinstance(module, ModuleOp)
    if machine is not None:
        module.attributes[MACHINE] = MachineAttr.of(load(machine))
    fuse = TensorFuseGroupsPass() if pass_ is None else pass_
    for step in (ConvertGraphToTensorPass(), TensorCanonicalizePass(), fuse):
        step.apply(context, module)
        verify(module)
    groups = [op for op in module.walk() if isinstance(op, GroupOp)]
    for group in groups:
        GroupSpace(group)
    return groups


def described(groups: list[GroupOp]) -> list[tuple[str, int, str | None]]:
    """Kind, number of ops and reason of each group."""
    return [(g.kind, len(list(g.body.ops)) - 1, g.stopped) for g in groups]


def function(arguments: str, results: str, body: str) -> str:
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"


MATRIX = "tensor<8x8xf32>"
BINARY = f"{MATRIX}, {MATRIX} -> {MATRIX}"
MLP = function(
    "%x: tensor<8x16xf16>, %w: tensor<16x8xf16>, %b: tensor<8xf32>, %v: tensor<8x4xf16>",
    "tensor<8x4xf32>",
    """
    %0 = graph.gemm %x, %w add %b
      : (tensor<8x16xf16>, tensor<16x8xf16>, tensor<8xf32>) -> tensor<8x8xf32>
    %1 = graph.relu %0 : tensor<8x8xf32>
    %2 = graph.cast %1 : tensor<8x8xf32> -> tensor<8x8xf16>
    %3 = graph.matmul %2, %v : tensor<8x8xf16>, tensor<8x4xf16> -> tensor<8x4xf32>
    %4 = graph.softmax %3 axis 1 : tensor<8x4xf32>
    func.return %4 : tensor<8x4xf32>
    """,
)


def test_bias_relu_and_the_next_operands_cast_join_the_product() -> None:
    groups = fused(MLP)
    assert described(groups) == [
        ("cube", 4, "tensor.contract: a group holds one contraction"),
        ("cube", 1, "tensor.reduce: no rule fuses it"),
        ("vector", 4, "its result is returned"),
    ]
    assert str(groups[0].results[0].type) == "tensor<8x8xf16>"


def test_rules_can_be_switched_off_one_by_one() -> None:
    pass_ = TensorFuseGroupsPass(disable=("cube-epilogue",))
    kinds = [kind for kind, _, _ in described(fused(MLP, pass_))]
    assert kinds == ["cube", "vector", "cube", "vector"]
    every = tuple(rule.name for rule in TensorFuseGroupsPass.RULES)
    alone = described(fused(MLP, TensorFuseGroupsPass(disable=every)))
    assert [size for _, size, _ in alone] == [1] * 9
    with pytest.raises(InputError, match="there is no fusion rule nonsense"):
        fused(MLP, TensorFuseGroupsPass(disable=("nonsense",)))


def test_a_rule_of_ones_own() -> None:
    anything = FusionRule("anything", "Fuse all.", lambda p: True, lambda p: None)

    class Greedy(TensorFuseGroupsPass):
        RULES: ClassVar[tuple[FusionRule, ...]] = (anything,)

    # The reduced rows and the product share one group; the product before it does too.
    assert [size for _, size, _ in described(fused(MLP, Greedy()))] == [9]


def test_a_residual_joins_the_later_product() -> None:
    text = function(
        f"%x: {MATRIX}, %w: {MATRIX}",
        MATRIX,
        f"""
        %0 = graph.matmul %x, %w : {BINARY}
        %1 = graph.relu %0 : {MATRIX}
        %2 = graph.matmul %1, %w : {BINARY}
        %3 = graph.add %2, %1 : {BINARY}
        func.return %3 : {MATRIX}
        """,
    )
    assert described(fused(text)) == [
        ("cube", 2, "tensor.contract: a group holds one contraction"),
        ("cube", 2, "its result is returned"),
    ]


def test_branches_that_meet_are_one_group() -> None:
    text = function(
        f"%x: {MATRIX}, %y: {MATRIX}",
        MATRIX,
        f"""
        %0 = graph.relu %x : {MATRIX}
        %1 = graph.mul %x, %y : {BINARY}
        %2 = graph.add %0, %1 : {BINARY}
        func.return %2 : {MATRIX}
        """,
    )
    (group,) = fused(text)
    assert described([group]) == [("vector", 3, "its result is returned")]
    assert len(group.inputs) == 2


def test_a_value_made_outside_from_the_group_keeps_its_reader_out() -> None:
    # The sum needs the product of the relu: it cannot be in the relu's group, which is before.
    text = function(
        f"%x: {MATRIX}, %w: {MATRIX}, %b: tensor<8x1xf32>",
        f"{MATRIX}, tensor<64xf32>",
        f"""
        %0 = graph.relu %x : {MATRIX}
        %1 = graph.reshape %0 : {MATRIX} -> tensor<64xf32>
        %2 = graph.reshape %1 : tensor<64xf32> -> tensor<4x16xf32>
        %3 = graph.relu %2 : tensor<4x16xf32>
        %4 = graph.reshape %3 : tensor<4x16xf32> -> {MATRIX}
        %5 = graph.add %0, %4 : {BINARY}
        func.return %5, %1 : {MATRIX}, tensor<64xf32>
        """,
    )
    assert described(fused(text)) == [
        ("vector", 1, "tensor.view stays outside groups"),
        ("vector", 1, "tensor.view stays outside groups"),
        ("vector", 1, "its result is returned"),
    ]


def test_a_value_needed_elsewhere_becomes_a_result_of_the_group() -> None:
    text = function(
        f"%x: {MATRIX}, %w: {MATRIX}",
        f"{MATRIX}, {MATRIX}",
        f"""
        %0 = graph.matmul %x, %w : {BINARY}
        %1 = graph.relu %0 : {MATRIX}
        func.return %1, %0 : {MATRIX}, {MATRIX}
        """,
    )
    (group,) = fused(text)
    assert len(group.outputs) == 2


def test_too_many_such_values_stop_the_group() -> None:
    count = MAX_OUTPUTS + 1
    lines = [f"%{i} = graph.mul %{i - 1 if i else 'x'}, %y : {BINARY}" for i in range(count)]
    results = ", ".join([MATRIX] * count)
    values = ", ".join(f"%{i}" for i in range(count))
    body = "\n".join([*lines, f"func.return {values} : {results}"])
    first, second = fused(function(f"%x: {MATRIX}, %y: {MATRIX}", results, body))
    assert len(first.outputs) == MAX_OUTPUTS
    assert first.stopped == "tensor.map: more than 4 values would be read outside"
    assert len(second.outputs) == 1


def test_a_long_chain_is_cut() -> None:
    lines = [f"%{i} = graph.add %{i - 1 if i else 'x'}, %x : {BINARY}" for i in range(MAX_OPS + 1)]
    body = "\n".join([*lines, f"func.return %{MAX_OPS} : {MATRIX}"])
    assert described(fused(function(f"%x: {MATRIX}", MATRIX, body))) == [
        ("vector", MAX_OPS, "tensor.map: a group holds at most 64 ops"),
        ("vector", 1, "its result is returned"),
    ]


def test_a_value_read_two_ways_is_two_operands() -> None:
    text = function(
        f"%x: {MATRIX}",
        MATRIX,
        f"""
        %0 = graph.transpose %x perm [1, 0] : {MATRIX} -> {MATRIX}
        %1 = graph.matmul %x, %0 : {BINARY}
        %2 = graph.add %1, %x : {BINARY}
        func.return %2 : {MATRIX}
        """,
    )
    (group,) = fused(text)
    assert [value is group.inputs[0] for value in group.inputs] == [True] * 3


def test_nothing_transposes_inside_a_group() -> None:
    text = function(
        f"%x: {MATRIX}, %w: {MATRIX}",
        MATRIX,
        f"""
        %0 = graph.matmul %x, %w : {BINARY}
        %1 = graph.transpose %0 perm [1, 0] : {MATRIX} -> {MATRIX}
        %2 = graph.relu %1 : {MATRIX}
        func.return %2 : {MATRIX}
        """,
    )
    assert described(fused(text)) == [
        ("cube", 1, "tensor.map: it would have to transpose a value of the group"),
        ("vector", 1, "its result is returned"),
    ]


IMAGE = "tensor<1x6x6x8xf32>"
CONV = (
    'strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 1 layout "channels_last" '
    f": ({IMAGE}, tensor<3x3x8x8xf32>, tensor<8xf32>) -> {IMAGE}"
)
DEPTHWISE = (
    'strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 8 layout "channels_last" '
    f": ({IMAGE}, tensor<3x3x1x8xf32>) -> {IMAGE}"
)
POOL = (
    "window [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] "
    f'layout "channels_last" : {IMAGE} -> {IMAGE}'
)
OUTER = "a reduction along axes before the last"


def test_bias_residual_and_relu_join_a_convolution() -> None:
    text = function(
        f"%x: {IMAGE}, %w: tensor<3x3x8x8xf32>, %b: tensor<8xf32>",
        IMAGE,
        f"""
        %0 = graph.conv %x, %w add %b {CONV}
        %1 = graph.add %0, %x : {IMAGE}, {IMAGE} -> {IMAGE}
        %2 = graph.relu %1 : {IMAGE}
        %3 = graph.conv %2, %w add %b {CONV}
        func.return %3 : {IMAGE}
        """,
    )
    groups = fused(text)
    assert described(groups) == [
        ("cube", 4, "tensor.contract: its windows overlap in a value of the group"),
        ("cube", 2, "its result is returned"),
    ]
    # The image is one operand for the windows and one for the residual.
    assert [group.inputs[0] for group in groups[:1]] == [groups[0].inputs[3]]


def test_what_follows_a_pooling_or_depthwise_convolution_joins_it() -> None:
    text = function(
        f"%x: {IMAGE}, %w: tensor<3x3x1x8xf32>",
        IMAGE,
        f"""
        %0 = graph.relu %x : {IMAGE}
        %1 = graph.conv %0, %w {DEPTHWISE}
        %2 = graph.relu %1 : {IMAGE}
        %3 = graph.average_pool %2 {POOL}
        %4 = graph.relu %3 : {IMAGE}
        func.return %4 : {IMAGE}
        """,
    )
    assert described(fused(text)) == [
        ("vector", 1, "tensor.contract: its windows overlap in a value of the group"),
        ("vector", 2, "tensor.reduce: its windows overlap in a value of the group"),
        ("vector", 3, "its result is returned"),
    ]
    alone = TensorFuseGroupsPass(disable=("outer-reduction-epilogue",))
    assert [size for _, size, _ in described(fused(text, alone))] == [1, 1, 1, 1, 2]


def test_a_pooling_of_whole_images_takes_in_no_work_before_it() -> None:
    pooled = "tensor<1x1x1x8xf32>"
    text = function(
        f"%x: {IMAGE}",
        f"{pooled}, {IMAGE}",
        f"""
        %0 = graph.relu %x : {IMAGE}
        %1 = graph.global_average_pool %0 layout "channels_last" : {IMAGE} -> {pooled}
        %2 = graph.sub %0, %1 : {IMAGE}, {pooled} -> {IMAGE}
        func.return %1, %2 : {pooled}, {IMAGE}
        """,
    )
    assert described(fused(text)) == [
        ("vector", 1, f"tensor.reduce: {OUTER} takes no work before it into its group"),
        ("vector", 2, "tensor.view stays outside groups"),
        ("vector", 1, "its result is returned"),
    ]


def test_two_poolings_of_one_image_are_two_groups() -> None:
    text = function(
        f"%x: {IMAGE}",
        IMAGE,
        f"""
        %0 = graph.max_pool %x {POOL}
        %1 = graph.average_pool %x {POOL}
        %2 = graph.add %0, %1 : {IMAGE}, {IMAGE} -> {IMAGE}
        func.return %2 : {IMAGE}
        """,
    )
    assert described(fused(text)) == [
        ("vector", 1, "tensor.map: it is in another group"),
        ("vector", 3, "its result is returned"),
    ]


@pytest.mark.parametrize(("columns", "groups"), [(32760, 1), (32768, 4)])
def test_rows_that_do_not_fit_the_machine_are_not_fused(columns: int, groups: int) -> None:
    type_ = f"tensor<4x{columns}xf32>"
    text = function(
        f"%x: {type_}", type_, f"%0 = graph.softmax %x axis 1 : {type_}\nfunc.return %0 : {type_}"
    )
    found = fused(text, machine="ascend310p")
    assert len(found) == groups
    if groups > 1:
        assert "a whole row takes 262176 bytes at once" in str(found[0].stopped)


def test_groups_keep_origins_and_order() -> None:
    text = function(
        f"%x: {MATRIX}, %w: {MATRIX}",
        f"{MATRIX}, {MATRIX}",
        f"""
        %0 = graph.matmul %x, %w {{core.origins = [[#core.origin<"a", "p">]]}} : {BINARY}
        %1 = graph.matmul %w, %x {{core.origins = [[#core.origin<"b", "q">]]}} : {BINARY}
        %2 = graph.relu %0 {{core.origins = [[#core.origin<"c", "r">]]}} : {MATRIX}
        func.return %2, %1 : {MATRIX}, {MATRIX}
        """,
    )
    first, second = fused(text)
    names = [str(op.attributes.get("core.origins")) for op in first.body.ops][:-1]
    assert ['"p"' in names[0], '"r"' in names[1]] == [True, True]
    assert len(list(second.body.ops)) == 2
