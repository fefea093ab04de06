// SPDX-License-Identifier: Apache-2.0
//
// The attributes of an operator as webnn/compiled.h has them: in the order of the table, without names; rows
// of one member stand there once. Equal ones give the same bytes.

#ifndef OPS_ATTR_SINK_H_
#define OPS_ATTR_SINK_H_

#include "ops/op.h"
#include "ops/sink.h"

void wnn_sink_attrs(struct sink *sink, enum op op, const void *attrs);

#endif
