// SPDX-License-Identifier: Apache-2.0
#include "lib/isa.h"

struct isa_limit wnn_isa_limit = {.best = WNN_ISA_AVX512};
