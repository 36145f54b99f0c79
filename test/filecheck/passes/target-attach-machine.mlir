// RUN: npu-opt %s -p 'target-attach-machine{target=tiny}' | filecheck %s
// RUN: npu-opt %s -p 'target-attach-machine{target=tiny},target-attach-machine' | filecheck %s
// RUN: npu-opt %s -p target-attach-machine | filecheck %s --check-prefix=DEFAULT
// RUN: not npu-opt %s -p 'target-attach-machine{target=tiny},target-attach-machine{target=ascend910}' 2>&1 | filecheck %s --check-prefix=CONFLICT
// RUN: not npu-opt %s -p 'target-attach-machine{target=nothing}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// A built-in machine stands in the text by its name and the digest of its description.
// CHECK: builtin.module attributes {target.machine = #target.machine<"tiny", "{{[0-9a-f]+}}">} {

// Without a name, a module that has no machine gets the default one.
// DEFAULT: #target.machine<"ascend310p", "{{[0-9a-f]+}}">

// A machine that is there already is not exchanged.
// CONFLICT: the module is already for the machine tiny
// CONFLICT-NEXT: why: it has digest {{[0-9a-f]+}}, ascend910 has {{[0-9a-f]+}}

// UNKNOWN: no machine is called nothing
// UNKNOWN-NEXT: do: use one of {{.*}}ascend310p{{.*}}tiny
"test.op"() : () -> ()
