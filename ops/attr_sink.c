// SPDX-License-Identifier: Apache-2.0
#include "ops/attr_sink.h"

#include "ops/attrs.h"

#include <string.h>

static void put_activations(struct sink *sink, const WNNActivationList *list)
{
    wnn_sink_u32(sink, (uint32_t)list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct activation *activation = wnn_activation(list->data[i]);
        wnn_sink_text(sink,
                      (struct string){wnn_ops[activation->op].name, strlen(wnn_ops[activation->op].name)});
        wnn_sink_attrs(sink, (enum op)activation->op, activation->attrs);
    }
}

static void put_list(struct sink *sink, const char *at)
{
    WNNUint32List list; // that of floats has the same layout
    memcpy(&list, at, sizeof list);
    if (list.count == WNN_LIST_ABSENT)
        wnn_sink_u32(sink, UINT32_MAX);
    else
        wnn_sink_words(sink, list.data, list.count);
}

static void put_attr(struct sink *sink, const struct op_row *row, const char *at)
{
    union {
        uint32_t u32;
        bool boolean;
        double f64;
        WNNNumber number;
        WNNActivationList activations;
    } value = {0};
    uint64_t bits;
    switch (row->attr) {
    case ATTR_u32s:
    case ATTR_f32s:
        put_list(sink, at);
        return;
    case ATTR_activation: // is a node of its own, or fused
        return;
    default:
        break;
    }
    memcpy(&value, at, wnn_attr_bytes(row->attr));
    switch (row->attr) {
    case ATTR_bool:
        wnn_sink_u32(sink, value.boolean);
        break;
    case ATTR_f64:
        wnn_sink_f64(sink, wnn_attr_given(value.f64));
        break;
    case ATTR_number:
        memcpy(&bits, &value.number.value, sizeof bits);
        wnn_sink_u32(sink, (uint32_t)value.number.type);
        wnn_sink_u64(sink, value.number.type == WNNNumberType_Undefined ? 0 : bits);
        break;
    case ATTR_activations:
        put_activations(sink, &value.activations);
        break;
    default: // 32 bits
        wnn_sink_u32(sink, value.u32);
        break;
    }
}

void wnn_sink_attrs(struct sink *sink, enum op op, const void *attrs)
{
    const struct op_info *info = &wnn_ops[op];
    for (const struct op_row *row = info->rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && wnn_op_row_is_first(info, row))
            put_attr(sink, row, (const char *)attrs + row->offset);
}
