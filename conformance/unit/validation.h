// SPDX-License-Identifier: Apache-2.0
//
// What the tests of validation share: one context and builder, operands in one word, and two requirements:
// REFUSES, with the whole message, and ACCEPTS, with the descriptor of the result. Functions are `static
// inline` since not every test uses all of them.

#ifndef CONFORMANCE_UNIT_VALIDATION_H_
#define CONFORMANCE_UNIT_VALIDATION_H_

#include "conformance/unit/require.h"
#include "runtime/backends.h"
#include "runtime/context.h"

#include <webnn/ops.h>

#include <math.h>

static WNNContext context;
static WNNGraphBuilder b;

static inline void begin_on(const struct backend *backend, const WNNLimits *limits)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.limits = limits;
    REQUIRE_EQUAL_INT(wnn_create_context_on(backend, &descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &b), WNNStatus_Success);
}

// What the published text says: dimensions are at least 1.
static inline WNNLimits published_limits(void)
{
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.acceptEmptyTensors = false;
    return limits;
}

// Opens `context` and `b`; limits NULL: the published ones.
static inline void begin(const WNNLimits *limits)
{
    WNNLimits published = published_limits();
    limits = limits ? limits : &published;
    begin_on(wnn_backend_find("dummy"), limits);
}

static inline void end(void)
{
    wnnGraphBuilderRelease(b);
    wnnContextRelease(context);
}

static inline WNNLimits no_limits(void)
{
    return (WNNLimits){0};
}

static inline WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

// ---------------------------------------------------------------------------------------------------------------
// Lists and operands
// ---------------------------------------------------------------------------------------------------------------

#define EMPTY  ((WNNUint32List){NULL, 0})
#define ABSENT ((WNNUint32List)WNN_UINT32_LIST_INIT)
#define BIG    0x7FFFFFFFu // the largest dimension

static inline WNNOperand operand(WNNDataType type, WNNUint32List shape)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = shape;
    WNNOperand input = wnnGraphBuilderInput(b, view("x"), &descriptor);
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_VIEW(error.message, "");
    return input;
}

// A new input: IN(Float32, 2, 3), or SCALAR(Float32).
#define IN(type, ...) operand(WNNDataType_##type, LIST(__VA_ARGS__))
#define F32(...)      IN(Float32, __VA_ARGS__)
#define F16(...)      IN(Float16, __VA_ARGS__)
#define I32(...)      IN(Int32, __VA_ARGS__)
#define U8(...)       IN(Uint8, __VA_ARGS__)
#define I8(...)       IN(Int8, __VA_ARGS__)
#define SCALAR(type)  operand(WNNDataType_##type, EMPTY)

// ---------------------------------------------------------------------------------------------------------------
// Requirements
// ---------------------------------------------------------------------------------------------------------------

static inline void require_refused(bool made, const char *call, WNNStatus status, const char *message,
                                   int line)
{
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    if (made || error.status != status || strcmp(error.message.data, message) != 0 ||
        error.message.length != strlen(message)) {
        fprintf(stderr, "line %d: %s\n  %s: %s \"%s\"\n  expected %s \"%s\"\n", line, call,
                made ? "accepted" : "refused", wnnStatusName(error.status).data, error.message.data,
                wnnStatusName(status).data, message);
        case_fail();
    }
    wnnGraphBuilderClearError(b);
}

static inline void require_accepted(WNNOperand result, const char *call, WNNDataType type,
                                    WNNUint32List shape, int line)
{
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    if (!result || error.status != WNNStatus_Success) {
        fprintf(stderr, "line %d: %s\n  refused: \"%s\"\n", line, call, error.message.data);
        case_fail();
    }
    WNNUint32List got = wnnOperandGetShape(result);
    bool equal = wnnOperandGetDataType(result) == type && got.count == shape.count;
    for (size_t i = 0; equal && i < got.count; i++)
        equal = got.data[i] == shape.data[i];
    if (equal)
        return;
    fprintf(stderr, "line %d: %s\n  gave type %d [", line, call, (int)wnnOperandGetDataType(result));
    for (size_t i = 0; i < got.count; i++)
        fprintf(stderr, "%s%u", i ? ", " : "", got.data[i]);
    fprintf(stderr, "]\n");
    case_fail();
}

// The call returns NULL or 0, and the builder's error is exactly this; it is cleared.
#define REFUSES_AS(status, call, message)                                                                    \
    require_refused((call) != 0, #call, WNNStatus_##status, message, __LINE__)
#define REFUSES(call, message) REFUSES_AS(TypeError, call, message)

// The call returns an operand of this type and shape.
#define ACCEPTS(call, type, shape) require_accepted((call), #call, WNNDataType_##type, shape, __LINE__)

#endif
