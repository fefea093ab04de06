// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernel.h"
#define W __attribute__((weak))
W void wnn_cpu_conv_transpose2d(const struct kernel_call *call) { (void)call; }
W size_t wnn_cpu_conv_transpose2d_scratch(const struct node *node, unsigned threads) { (void)node; (void)threads; return 0; }
W void wnn_cpu_pool2d(const struct kernel_call *call) { (void)call; }
W void wnn_cpu_resample2d(const struct kernel_call *call) { (void)call; }
W void wnn_cpu_gru(const struct kernel_call *call) { (void)call; }
W size_t wnn_cpu_gru_scratch(const struct node *node, unsigned threads) { (void)node; (void)threads; return 0; }
W void wnn_cpu_lstm(const struct kernel_call *call) { (void)call; }
W size_t wnn_cpu_lstm_scratch(const struct node *node, unsigned threads) { (void)node; (void)threads; return 0; }
