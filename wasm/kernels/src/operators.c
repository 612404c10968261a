/* Every operator that a program may name. */
#include "kernels.h"

extern const Operator op_binary_f32, op_block_f32, op_cast, op_conv_f32, op_depthwise_f32, op_fill, op_gather,
    op_gemm_f32, op_layer_norm_f32, op_move, op_pack_b_f32, op_pool_f32, op_reduce_f32, op_softmax_f32, op_unary_f32,
    op_unblock_f32;

const Operator *const operators[] = {
    &op_binary_f32, &op_block_f32,   &op_cast,           &op_conv_f32,    &op_depthwise_f32, &op_fill,
    &op_gather,     &op_gemm_f32,    &op_layer_norm_f32, &op_move,        &op_pack_b_f32,    &op_pool_f32,
    &op_reduce_f32, &op_softmax_f32, &op_unary_f32,      &op_unblock_f32,
};
const int operator_count = sizeof operators / sizeof *operators;
