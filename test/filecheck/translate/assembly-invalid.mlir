// RUN: not npu-translate --asm-to-mlir %s 2>&1 | filecheck %s
// RUN: not npu-translate --mlir-to-asm %S/Inputs/no_kernel.mlir 2>&1 | filecheck %s --check-prefix=NONE

// An error names the line of the text, whatever kernel it is in.
// CHECK: npu-translate: error: line 13 of the assembly text is not a valid instruction
// CHECK-NEXT: where: line 13: r2 = s_add lhs = r1, rhs = 99999999999
// CHECK-NEXT: why: rhs = 99999999999 is outside -2147483648..2147483647 (32 bits, unit 1)

// NONE: npu-translate: error: the module has no kernel
.kernel "fine" arguments 0 engine vector nodes []
end
.kernel "bad" arguments 2 engine vector nodes []
r2 = s_add lhs = r1, rhs = 99999999999
end
