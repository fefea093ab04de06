// SPDX-License-Identifier: Apache-2.0
#ifndef WEBNN_WEBNN_H_
#define WEBNN_WEBNN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WNN_EXPORT __attribute__((visibility("default")))
#else
#define WNN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WNN_VERSION_MAJOR 0
#define WNN_VERSION_MINOR 1
#define WNN_VERSION_PATCH 0

#define WNN_MAKE_VERSION(major, minor, patch) ((uint32_t)(major) << 24 | (uint32_t)(minor) << 16 | (uint32_t)(patch))
#define WNN_VERSION WNN_MAKE_VERSION(WNN_VERSION_MAJOR, WNN_VERSION_MINOR, WNN_VERSION_PATCH)

typedef struct WNNContextImpl *WNNContext;
typedef struct WNNGraphImpl *WNNGraph;
typedef struct WNNTensorImpl *WNNTensor;
typedef struct WNNThreadPoolImpl *WNNThreadPool;
typedef struct WNNBudgetImpl *WNNBudget;
typedef struct WNNGraphBuilderImpl *WNNGraphBuilder;
typedef struct WNNOperandImpl *WNNOperand;
typedef struct WNNActivationImpl *WNNActivation;

#define WNN_STRLEN SIZE_MAX

typedef struct WNNStringView {
    const char *data;
    size_t length;
} WNNStringView;
#define WNN_STRING_VIEW_INIT { NULL, WNN_STRLEN }

#define WNN_LIST_ABSENT SIZE_MAX

typedef struct WNNUint32List {
    const uint32_t *data;
    size_t count;
} WNNUint32List;
#define WNN_UINT32_LIST_INIT { NULL, WNN_LIST_ABSENT }

typedef struct WNNFloat32List {
    const float *data;
    size_t count;
} WNNFloat32List;
#define WNN_FLOAT32_LIST_INIT { NULL, WNN_LIST_ABSENT }

typedef enum WNNNumberType {
    WNNNumberType_Undefined = 0,
    WNNNumberType_Int64 = 1,
    WNNNumberType_Uint64 = 2,
    WNNNumberType_Float64 = 3,
    WNNNumberType_Force32 = 0x7FFFFFFF
} WNNNumberType;

typedef struct WNNNumber {
    WNNNumberType type;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
    } value;
} WNNNumber;
#define WNN_NUMBER_INIT { WNNNumberType_Undefined, { 0 } }

static inline WNNNumber wnnNumberInt64(int64_t value)
{
    WNNNumber number;
    number.type = WNNNumberType_Int64;
    number.value.i64 = value;
    return number;
}

static inline WNNNumber wnnNumberUint64(uint64_t value)
{
    WNNNumber number;
    number.type = WNNNumberType_Uint64;
    number.value.u64 = value;
    return number;
}

static inline WNNNumber wnnNumberFloat64(double value)
{
    WNNNumber number;
    number.type = WNNNumberType_Float64;
    number.value.f64 = value;
    return number;
}

typedef enum WNNSType {
    WNNSType_VulkanDevice = 1,
    WNNSType_VulkanBuffer = 2,
    WNNSType_VulkanMemory = 3,
    WNNSType_VulkanExport = 4,
    WNNSType_VulkanSync = 5,
    WNNSType_TimeLimit = 6,
    WNNSType_Trace = 7,
    WNNSType_Log = 8,
    WNNSType_NamedDimensions = 9,
    WNNSType_InputShapes = 10,
    WNNSType_Force32 = 0x7FFFFFFF
} WNNSType;

typedef struct WNNChainedStruct {
    const struct WNNChainedStruct *next;
    uint32_t sType;
} WNNChainedStruct;

typedef enum WNNStatus {
    WNNStatus_Success = 0,
    WNNStatus_TypeError = 1,
    WNNStatus_InvalidStateError = 2,
    WNNStatus_OperationError = 3,
    WNNStatus_NotSupportedError = 4,
    WNNStatus_SecurityError = 5,
    WNNStatus_UnknownError = 6,
    WNNStatus_OutOfMemory = 7,
    WNNStatus_Cancelled = 8,
    WNNStatus_Force32 = 0x7FFFFFFF
} WNNStatus;

WNN_EXPORT WNNStringView wnnStatusName(WNNStatus status);

typedef struct WNNError {
    WNNStatus status;
    WNNStringView message;
} WNNError;

#define WNN_ERROR_INIT { WNNStatus_Success, WNN_STRING_VIEW_INIT }

WNN_EXPORT uint32_t wnnGetVersion(void);
WNN_EXPORT WNNStringView wnnGetVersionText(void);

typedef enum WNNDataType {
    WNNDataType_Undefined = 0,
    WNNDataType_Float32 = 1,
    WNNDataType_Float16 = 2,
    WNNDataType_Int32 = 3,
    WNNDataType_Uint32 = 4,
    WNNDataType_Int64 = 5,
    WNNDataType_Uint64 = 6,
    WNNDataType_Int8 = 7,
    WNNDataType_Uint8 = 8,
    WNNDataType_Int4 = 9,
    WNNDataType_Uint4 = 10,
    WNNDataType_Force32 = 0x7FFFFFFF
} WNNDataType;

WNN_EXPORT WNNStringView wnnDataTypeName(WNNDataType dataType);

#define WNN_MAX_RANK 8

typedef struct WNNOperandDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNDataType dataType;
    WNNUint32List shape;
} WNNOperandDescriptor;
#define WNN_OPERAND_DESCRIPTOR_INIT { NULL, WNNDataType_Undefined, { NULL, 0 } }

typedef struct WNNDimension {
    WNNStringView name;
    bool isUnknown;
    uint32_t minSize, maxSize;

} WNNDimension;
#define WNN_DIMENSION_INIT { WNN_STRING_VIEW_INIT, false, 1, 0x7FFFFFFF }

typedef struct WNNNamedDimensions {
    WNNChainedStruct chain;
    size_t dimensionCount;
    const WNNDimension *dimensions;
} WNNNamedDimensions;
#define WNN_NAMED_DIMENSIONS_INIT { { NULL, WNNSType_NamedDimensions }, 0, NULL }

typedef struct WNNNamedShape {
    WNNStringView name;
    WNNUint32List shape;
} WNNNamedShape;
#define WNN_NAMED_SHAPE_INIT { WNN_STRING_VIEW_INIT, { NULL, 0 } }

typedef struct WNNInputShapes {
    WNNChainedStruct chain;
    size_t shapeCount;
    const WNNNamedShape *shapes;
} WNNInputShapes;
#define WNN_INPUT_SHAPES_INIT { { NULL, WNNSType_InputShapes }, 0, NULL }

typedef struct WNNOutputShape {
    WNNChainedStruct *nextInChain;
    WNNStringView name;
    WNNDataType dataType;
    uint32_t rank, dimensions[WNN_MAX_RANK];
    size_t byteLength;
} WNNOutputShape;
#define WNN_OUTPUT_SHAPE_INIT { NULL, WNN_STRING_VIEW_INIT, WNNDataType_Undefined, 0, { 0 }, 0 }

typedef enum WNNCallbackMode {

    WNNCallbackMode_WaitAnyOnly = 1,

    WNNCallbackMode_AllowProcessEvents = 2,

    WNNCallbackMode_AllowSpontaneous = 3,
    WNNCallbackMode_Force32 = 0x7FFFFFFF
} WNNCallbackMode;

typedef struct WNNFuture {
    uint64_t id;
} WNNFuture;
#define WNN_FUTURE_INIT { 0 }

typedef struct WNNFutureWaitInfo {
    WNNFuture future;
    bool completed;
} WNNFutureWaitInfo;
#define WNN_FUTURE_WAIT_INFO_INIT { WNN_FUTURE_INIT, false }

typedef struct WNNTimeLimit {
    WNNChainedStruct chain;
    uint64_t nanoseconds;
} WNNTimeLimit;
#define WNN_TIME_LIMIT_INIT { { NULL, WNNSType_TimeLimit }, 0 }

typedef enum WNNWaitStatus {
    WNNWaitStatus_Success = 0,
    WNNWaitStatus_TimedOut = 1,
    WNNWaitStatus_Error = 2,
    WNNWaitStatus_Force32 = 0x7FFFFFFF
} WNNWaitStatus;

#define WNN_WAIT_FOREVER UINT64_MAX

typedef void (*WNNBuildCallback)(WNNStatus status, WNNGraph graph, WNNStringView message, void *userdata1,
                                 void *userdata2);
typedef struct WNNBuildCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNCallbackMode mode;
    WNNBuildCallback callback;
    void *userdata1, *userdata2;
} WNNBuildCallbackInfo;
#define WNN_BUILD_CALLBACK_INFO_INIT { NULL, WNNCallbackMode_WaitAnyOnly, NULL, NULL, NULL }

typedef void (*WNNRequestCallback)(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2);
typedef struct WNNRequestCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNCallbackMode mode;
    WNNRequestCallback callback;
    void *userdata1, *userdata2;
} WNNRequestCallbackInfo;
#define WNN_REQUEST_CALLBACK_INFO_INIT { NULL, WNNCallbackMode_WaitAnyOnly, NULL, NULL, NULL }

typedef enum WNNDeviceType {
    WNNDeviceType_CPU = 1,
    WNNDeviceType_GPU = 2,
    WNNDeviceType_Force32 = 0x7FFFFFFF
} WNNDeviceType;

typedef enum WNNPowerPreference {
    WNNPowerPreference_Default = 1,
    WNNPowerPreference_HighPerformance = 2,
    WNNPowerPreference_LowPower = 3,
    WNNPowerPreference_Force32 = 0x7FFFFFFF
} WNNPowerPreference;

typedef struct WNNAllocator {
    const WNNChainedStruct *nextInChain;

    void *(*allocate)(size_t size, size_t alignment, void *userdata);

    void (*release)(void *memory, size_t size, size_t alignment, void *userdata);
    void *userdata;
} WNNAllocator;
#define WNN_ALLOCATOR_INIT { NULL, NULL, NULL, NULL }

typedef struct WNNParallelFor {
    const WNNChainedStruct *nextInChain;
    void (*parallelFor)(size_t count, void (*task)(void *argument, size_t index), void *argument, void *userdata);
    uint32_t concurrency;
    void *userdata;
} WNNParallelFor;
#define WNN_PARALLEL_FOR_INIT { NULL, NULL, 1, NULL }

typedef enum WNNResource {
    WNNResource_HostMemory = 1,
    WNNResource_DeviceMemory = 2,
    WNNResource_Threads = 3,
    WNNResource_Objects = 4,
    WNNResource_Work = 5,
    WNNResource_Force32 = 0x7FFFFFFF
} WNNResource;

typedef struct WNNResources {
    WNNChainedStruct *nextInChain;
    uint64_t hostBytes, deviceBytes, threads, objects, work;
} WNNResources;
#define WNN_RESOURCES_INIT { NULL, 0, 0, 0, 0, 0 }

typedef void (*WNNBudgetCallback)(WNNResource resource, uint64_t amount, void *userdata1, void *userdata2);

typedef struct WNNBudgetDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNResources limits, thresholds;
    WNNBudgetCallback callback;
    void *userdata1, *userdata2;
} WNNBudgetDescriptor;
#define WNN_BUDGET_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_RESOURCES_INIT, WNN_RESOURCES_INIT, NULL, NULL, NULL }

WNN_EXPORT WNNStatus wnnCreateBudget(const WNNBudgetDescriptor *descriptor, WNNBudget *budget);
WNN_EXPORT void wnnBudgetAddRef(WNNBudget budget);
WNN_EXPORT void wnnBudgetRelease(WNNBudget budget);

WNN_EXPORT WNNStatus wnnBudgetGetResources(WNNBudget budget, WNNResources *now, WNNResources *peak);

typedef struct WNNThreadPoolDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t computeThreads;

    uint32_t spareThreads;
    const WNNAllocator *allocator;
} WNNThreadPoolDescriptor;
#define WNN_THREAD_POOL_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, NULL }

WNN_EXPORT WNNStatus wnnCreateThreadPool(const WNNThreadPoolDescriptor *descriptor, WNNThreadPool *pool);

WNN_EXPORT void wnnThreadPoolAddRef(WNNThreadPool pool);

WNN_EXPORT void wnnThreadPoolRelease(WNNThreadPool pool);

typedef enum WNNPriority {
    WNNPriority_Low = 1,
    WNNPriority_Normal = 2,
    WNNPriority_High = 3,
    WNNPriority_Force32 = 0x7FFFFFFF
} WNNPriority;

typedef struct WNNCache {
    const WNNChainedStruct *nextInChain;

    size_t (*load)(const void *key, size_t keyLength, void *data, size_t capacity, void *userdata);

    void (*store)(const void *key, size_t keyLength, const void *data, size_t length, void *userdata);
    void *userdata;
} WNNCache;
#define WNN_CACHE_INIT { NULL, NULL, NULL, NULL }

typedef struct WNNLimits {
    WNNChainedStruct *nextInChain;
    uint64_t maxTensorByteLength;
    uint64_t maxMemoryBytes;
    uint64_t maxConstantBytes;
    uint32_t maxOperators;
    uint32_t maxOperands;
    uint32_t maxInputsAndOutputs;
    uint32_t maxStringLength;
    uint32_t maxWindowSize;
    uint32_t maxStride;
    uint32_t maxDilation;
    uint64_t maxOperatorWork;
    uint64_t maxGraphWork;
    uint64_t maxExecutionNanoseconds;
    uint64_t maxBuildNanoseconds;
    uint32_t maxPendingRequests;
    bool acceptEmptyTensors;

    uint64_t maxTotalStringBytes;
    uint32_t maxSpecializations;
    uint64_t maxSpecializationBytes;
} WNNLimits;
#define WNN_LIMITS_INIT { NULL, 0x7FFFFFFF, 0, 0, 1000000, 1000000, 65536, 65536, 0, 0, 0, 0, 0, 0, 0, 1000000, true, 0x8000000, 16, 0 }

typedef enum WNNContextLostReason {
    WNNContextLostReason_None = 0,
    WNNContextLostReason_Destroyed = 1,
    WNNContextLostReason_Released = 2,
    WNNContextLostReason_DeviceLost = 3,
    WNNContextLostReason_Failed = 4,
    WNNContextLostReason_Force32 = 0x7FFFFFFF
} WNNContextLostReason;

typedef void (*WNNContextLostCallback)(WNNContextLostReason reason, WNNStringView message, void *userdata1,
                                       void *userdata2);
typedef struct WNNContextLostCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNCallbackMode mode;
    WNNContextLostCallback callback;
    void *userdata1, *userdata2;
} WNNContextLostCallbackInfo;
#define WNN_CONTEXT_LOST_CALLBACK_INFO_INIT { NULL, WNNCallbackMode_AllowSpontaneous, NULL, NULL, NULL }

typedef void (*WNNErrorCallback)(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2);
typedef struct WNNErrorCallbackInfo {
    const WNNChainedStruct *nextInChain;
    WNNErrorCallback callback;
    void *userdata1, *userdata2;
} WNNErrorCallbackInfo;
#define WNN_ERROR_CALLBACK_INFO_INIT { NULL, NULL, NULL, NULL }

typedef enum WNNDeviceKind {
    WNNDeviceKind_Other = 1,
    WNNDeviceKind_Discrete = 2,
    WNNDeviceKind_Integrated = 3,
    WNNDeviceKind_Virtual = 4,
    WNNDeviceKind_Processor = 5,
    WNNDeviceKind_Force32 = 0x7FFFFFFF
} WNNDeviceKind;

#define WNN_DEVICE_INDEX_UNKNOWN UINT32_MAX

typedef struct WNNDeviceInfo {
    WNNChainedStruct *nextInChain;
    WNNDeviceType deviceType;
    WNNDeviceKind kind;
    uint32_t index;

    uint8_t uuid[16];
    bool isUsable;
    uint64_t memoryBytes;

    uint32_t vendorId, deviceId;
    char vendorName[64];
    char name[256];

    uint32_t driverId, driverVersion, apiVersion;
    char driverVersionText[64], apiVersionText[32];
    char driverName[256], driverInfo[256];

    char instructionSets[256];
    uint32_t processorCount;
} WNNDeviceInfo;
#define WNN_DEVICE_INFO_INIT                                                                                         \
    { NULL, WNNDeviceType_CPU, WNNDeviceKind_Other, WNN_DEVICE_INDEX_UNKNOWN, { 0 }, false, 0, 0, 0, "", "", 0, 0, 0,   \
      "", "", "", "", "", 0 }

WNN_EXPORT WNNStatus wnnEnumerateDevices(size_t capacity, WNNDeviceInfo *devices, size_t *count);

WNN_EXPORT WNNStatus wnnContextGetDeviceInfo(WNNContext context, WNNDeviceInfo *info);

typedef enum WNNTracePhase {
    WNNTracePhase_Begin = 1,
    WNNTracePhase_End = 2,
    WNNTracePhase_Instant = 3,
    WNNTracePhase_Force32 = 0x7FFFFFFF
} WNNTracePhase;

typedef enum WNNTraceFlow {
    WNNTraceFlow_None = 0,
    WNNTraceFlow_Begin = 1,
    WNNTraceFlow_Step = 2,
    WNNTraceFlow_End = 3,
    WNNTraceFlow_Force32 = 0x7FFFFFFF
} WNNTraceFlow;

typedef struct WNNTraceEvent {
    const WNNChainedStruct *nextInChain;
    WNNTracePhase phase;
    WNNTraceFlow flow;
    WNNStringView category, name;
    WNNStringView label;
    uint64_t flowId;
    uint64_t graphId;
    WNNStatus status;
} WNNTraceEvent;
#define WNN_TRACE_EVENT_INIT                                                                                         \
    { NULL, WNNTracePhase_Instant, WNNTraceFlow_None, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT,                    \
      WNN_STRING_VIEW_INIT, 0, 0, WNNStatus_Success }

typedef struct WNNTrace {
    WNNChainedStruct chain;
    void (*event)(const WNNTraceEvent *event, void *userdata1, void *userdata2);
    void *userdata1, *userdata2;
    bool includeNodes;

} WNNTrace;
#define WNN_TRACE_INIT { { NULL, WNNSType_Trace }, NULL, NULL, NULL, false }

typedef enum WNNLogLevel {
    WNNLogLevel_Error = 1,
    WNNLogLevel_Warning = 2,
    WNNLogLevel_Info = 3,
    WNNLogLevel_Verbose = 4,
    WNNLogLevel_Force32 = 0x7FFFFFFF
} WNNLogLevel;

typedef void (*WNNLogCallback)(WNNLogLevel level, WNNStringView message, void *userdata1, void *userdata2);

typedef struct WNNLog {
    WNNChainedStruct chain;
    WNNLogLevel maxLevel;
    WNNLogCallback callback;
    void *userdata1, *userdata2;
} WNNLog;
#define WNN_LOG_INIT { { NULL, WNNSType_Log }, WNNLogLevel_Info, NULL, NULL, NULL }

typedef struct WNNContextDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNDeviceType deviceType;
    WNNStringView device;

    WNNPowerPreference powerPreference;
    bool accelerated;
    bool strictNumerics;
    uint32_t threadCount;
    const WNNAllocator *allocator;
    const WNNParallelFor *parallelFor;
    WNNThreadPool threadPool;

    WNNPriority priority;
    WNNBudget budget;
    const WNNCache *cache;
    const WNNLimits *limits;
    WNNContextLostCallbackInfo lostCallbackInfo;
    WNNErrorCallbackInfo errorCallbackInfo;
} WNNContextDescriptor;
#define WNN_CONTEXT_DESCRIPTOR_INIT                                                                                  \
    { NULL, WNN_STRING_VIEW_INIT, WNNDeviceType_CPU, WNN_STRING_VIEW_INIT, WNNPowerPreference_Default, true, false, 0,  \
      NULL, NULL, NULL, WNNPriority_Normal, NULL, NULL, NULL,                                                                \
      WNN_CONTEXT_LOST_CALLBACK_INFO_INIT, WNN_ERROR_CALLBACK_INFO_INIT }

WNN_EXPORT WNNStatus wnnCreateContext(const WNNContextDescriptor *descriptor, WNNContext *context);

WNN_EXPORT void wnnContextAddRef(WNNContext context);

WNN_EXPORT void wnnContextRelease(WNNContext context);

WNN_EXPORT void wnnContextDestroy(WNNContext context);

WNN_EXPORT bool wnnContextIsLost(WNNContext context);

WNN_EXPORT WNNContextLostReason wnnContextGetLostReason(WNNContext context);

WNN_EXPORT bool wnnContextGetAccelerated(WNNContext context);

WNN_EXPORT WNNStatus wnnContextGetLimits(WNNContext context, WNNLimits *limits);

WNN_EXPORT WNNStatus wnnContextPreload(WNNContext context);

typedef struct WNNContextCounters {
    WNNChainedStruct *nextInChain;
    uint64_t builders, graphs, tensors, pendingRequests;
    uint64_t allocatedBytes, maxAllocatedBytes;
} WNNContextCounters;
#define WNN_CONTEXT_COUNTERS_INIT { NULL, 0, 0, 0, 0, 0, 0 }

WNN_EXPORT WNNStatus wnnContextGetCounters(WNNContext context, WNNContextCounters *counters);

typedef struct WNNTensorLimits {
    uint32_t dataTypes;
    uint32_t minRank, maxRank;
} WNNTensorLimits;
#define WNN_TENSOR_LIMITS_INIT { 0, 0, 0 }
typedef struct WNNOperandLimits {
    const WNNChainedStruct *nextInChain;
    WNNStringView name;
    bool isOptional;
    WNNTensorLimits limits;
} WNNOperandLimits;
#define WNN_OPERAND_LIMITS_INIT { NULL, WNN_STRING_VIEW_INIT, false, WNN_TENSOR_LIMITS_INIT }
typedef struct WNNOperatorLimits {
    const WNNChainedStruct *nextInChain;
    WNNStringView name;
    size_t operandCount;
    const WNNOperandLimits *operands;
} WNNOperatorLimits;
#define WNN_OPERATOR_LIMITS_INIT { NULL, WNN_STRING_VIEW_INIT, 0, NULL }

typedef enum WNNInputOperandLayout {
    WNNInputOperandLayout_NCHW = 1,
    WNNInputOperandLayout_NHWC = 2,
    WNNInputOperandLayout_Force32 = 0x7FFFFFFF
} WNNInputOperandLayout;

typedef struct WNNOpSupportLimits {
    WNNChainedStruct *nextInChain;
    WNNInputOperandLayout preferredInputLayout;
    uint64_t maxTensorByteLength;
    WNNTensorLimits input, constant, output;
    size_t operatorCount;
    const WNNOperatorLimits *operators;
} WNNOpSupportLimits;
#define WNN_OP_SUPPORT_LIMITS_INIT                                                                                   \
    { NULL, WNNInputOperandLayout_NCHW, 0, WNN_TENSOR_LIMITS_INIT, WNN_TENSOR_LIMITS_INIT, WNN_TENSOR_LIMITS_INIT, 0, NULL }

WNN_EXPORT WNNStatus wnnContextGetOpSupportLimits(WNNContext context, WNNOpSupportLimits *limits);

WNN_EXPORT WNNWaitStatus wnnContextWaitAny(WNNContext context, size_t futureCount, WNNFutureWaitInfo *futures,
                                           uint64_t timeoutNanoseconds);

WNN_EXPORT void wnnContextProcessEvents(WNNContext context);

WNN_EXPORT WNNStatus wnnContextCancel(WNNContext context, WNNFuture future);

WNN_EXPORT WNNStatus wnnContextCreateGraphBuilder(WNNContext context, WNNGraphBuilder *builder);

WNN_EXPORT void wnnGraphBuilderRelease(WNNGraphBuilder builder);

WNN_EXPORT void wnnGraphBuilderGetError(WNNGraphBuilder builder, WNNError *error);
WNN_EXPORT void wnnGraphBuilderClearError(WNNGraphBuilder builder);

WNN_EXPORT WNNOperand wnnGraphBuilderInput(WNNGraphBuilder builder, WNNStringView name,
                                           const WNNOperandDescriptor *descriptor);

WNN_EXPORT WNNOperand wnnGraphBuilderConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                              const void *data, size_t byteLength);

typedef struct WNNExternalBytes {
    const WNNChainedStruct *nextInChain;
    const void *data;
    size_t byteLength;
    void (*release)(const void *data, size_t byteLength, void *userdata1, void *userdata2);
    void *userdata1, *userdata2;
} WNNExternalBytes;
#define WNN_EXTERNAL_BYTES_INIT { NULL, NULL, 0, NULL, NULL, NULL }
WNN_EXPORT WNNOperand wnnGraphBuilderExternalConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                                      const WNNExternalBytes *bytes);

WNN_EXPORT WNNOperand wnnGraphBuilderScalarConstant(WNNGraphBuilder builder, WNNDataType dataType, WNNNumber value);

WNN_EXPORT WNNOperand wnnGraphBuilderRangeConstant(WNNGraphBuilder builder, WNNNumber start, WNNNumber end,
                                                   WNNNumber step, WNNDataType dataType);

WNN_EXPORT WNNOperand wnnGraphBuilderTensorConstant(WNNGraphBuilder builder, WNNTensor tensor);

WNN_EXPORT WNNDataType wnnOperandGetDataType(WNNOperand operand);
WNN_EXPORT WNNUint32List wnnOperandGetShape(WNNOperand operand);

typedef enum WNNSizeOperator {
    WNNSizeOperator_Add = 1,
    WNNSizeOperator_Subtract = 2,
    WNNSizeOperator_Multiply = 3,
    WNNSizeOperator_Divide = 4,
    WNNSizeOperator_Minimum = 5,
    WNNSizeOperator_Maximum = 6,
    WNNSizeOperator_Force32 = 0x7FFFFFFF
} WNNSizeOperator;
WNN_EXPORT uint32_t wnnGraphBuilderComputeSize(WNNGraphBuilder builder, WNNSizeOperator operation, uint32_t a, uint32_t b);

WNN_EXPORT WNNStatus wnnGraphBuilderGetSize(WNNGraphBuilder builder, uint32_t size, WNNDimension *dimension);

typedef struct WNNNamedOperand {
    WNNStringView name;
    WNNOperand operand;
} WNNNamedOperand;
#define WNN_NAMED_OPERAND_INIT { WNN_STRING_VIEW_INIT, NULL }

WNN_EXPORT WNNFuture wnnGraphBuilderBuild(WNNGraphBuilder builder, size_t outputCount, const WNNNamedOperand *outputs,
                                          WNNBuildCallbackInfo callbackInfo);

WNN_EXPORT WNNStatus wnnGraphBuilderBuildSync(WNNGraphBuilder builder, size_t outputCount, const WNNNamedOperand *outputs,
                                              WNNGraph *graph, size_t capacity, char *message);

WNN_EXPORT void wnnGraphAddRef(WNNGraph graph);
WNN_EXPORT void wnnGraphRelease(WNNGraph graph);

WNN_EXPORT void wnnGraphDestroy(WNNGraph graph);

WNN_EXPORT void wnnGraphCancel(WNNGraph graph);

typedef struct WNNNamedDescriptor {
    WNNStringView name;
    WNNOperandDescriptor descriptor;
} WNNNamedDescriptor;
#define WNN_NAMED_DESCRIPTOR_INIT { WNN_STRING_VIEW_INIT, WNN_OPERAND_DESCRIPTOR_INIT }

WNN_EXPORT const WNNNamedDescriptor *wnnGraphGetInputs(WNNGraph graph, size_t *count);
WNN_EXPORT const WNNNamedDescriptor *wnnGraphGetOutputs(WNNGraph graph, size_t *count);

WNN_EXPORT WNNStatus wnnGraphGetSize(WNNGraph graph, uint32_t size, WNNDimension *dimension);

WNN_EXPORT WNNStatus wnnGraphComputeShapes(WNNGraph graph, size_t inputCount, const WNNNamedShape *inputs,
                                           size_t outputCount, WNNOutputShape *outputs, size_t capacity, char *message);

typedef struct WNNGraphInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView backend;
    uint64_t id;
    uint64_t recordedOperators;
    uint64_t nodeCount;

    uint64_t compileNanoseconds, lowerNanoseconds, buildNanoseconds;

    uint64_t constantBytes;
    uint64_t weightBytes;
    uint64_t executionBytes;

    uint64_t deviceBytes;
} WNNGraphInfo;
#define WNN_GRAPH_INFO_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct WNNNodeInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNStringView operation;
    WNNStringView kernel;

    WNNStringView reason;

    uint64_t bytes;
    uint64_t operations;
} WNNNodeInfo;
#define WNN_NODE_INFO_INIT                                                                                           \
    { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, 0 }

WNN_EXPORT WNNStatus wnnGraphGetInfo(WNNGraph graph, WNNGraphInfo *info);

WNN_EXPORT WNNStatus wnnGraphGetNodes(WNNGraph graph, size_t capacity, WNNNodeInfo *nodes, size_t *count);

typedef struct WNNGraphProfile {
    WNNChainedStruct *nextInChain;
    WNNStringView backend;
    uint64_t runs;
    uint64_t totalNanoseconds;
    uint64_t minNanoseconds;
    uint64_t lastBeginNanoseconds;
    uint64_t lastNanoseconds;

    uint64_t totalDeviceNanoseconds, minDeviceNanoseconds, lastDeviceNanoseconds;
} WNNGraphProfile;
#define WNN_GRAPH_PROFILE_INIT { NULL, WNN_STRING_VIEW_INIT, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct WNNNodeProfile {
    WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNStringView operation;
    WNNStringView kernel;
    uint64_t runs;
    uint64_t totalNanoseconds, minNanoseconds;
    uint64_t lastBeginNanoseconds, lastNanoseconds;
    uint64_t bytes;
    uint64_t operations;
} WNNNodeProfile;
#define WNN_NODE_PROFILE_INIT                                                                                        \
    { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, 0, 0, 0, 0, 0, 0, 0 }

WNN_EXPORT void wnnGraphSetProfiling(WNNGraph graph, bool enabled);

WNN_EXPORT WNNStatus wnnGraphGetProfile(WNNGraph graph, WNNGraphProfile *profile, size_t capacity, WNNNodeProfile *nodes,
                                        size_t *count);

typedef struct WNNNamedBuffer {
    WNNStringView name;
    void *data;
    size_t byteLength;
    WNNDataType dataType;
} WNNNamedBuffer;
#define WNN_NAMED_BUFFER_INIT { WNN_STRING_VIEW_INIT, NULL, 0, WNNDataType_Undefined }

typedef struct WNNComputeDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNGraph graph;
    size_t inputCount, outputCount;
    const WNNNamedBuffer *inputs, *outputs;
} WNNComputeDescriptor;
#define WNN_COMPUTE_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, 0, 0, NULL, NULL }

WNN_EXPORT WNNFuture wnnContextCompute(WNNContext context, const WNNComputeDescriptor *descriptor,
                                       WNNRequestCallbackInfo callbackInfo);

WNN_EXPORT WNNStatus wnnContextComputeSync(WNNContext context, const WNNComputeDescriptor *descriptor, size_t capacity,
                                           char *message);

typedef struct WNNTensorDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNDataType dataType;
    WNNUint32List shape;
    bool readable, writable;
} WNNTensorDescriptor;
#define WNN_TENSOR_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, WNNDataType_Undefined, { NULL, 0 }, false, false }

WNN_EXPORT WNNStatus wnnContextCreateTensor(WNNContext context, const WNNTensorDescriptor *descriptor,
                                            WNNTensor *tensor);

WNN_EXPORT WNNStatus wnnContextCreateConstantTensor(WNNContext context, const WNNTensorDescriptor *descriptor,
                                                    const void *data, size_t byteLength, WNNTensor *tensor);

WNN_EXPORT void wnnTensorAddRef(WNNTensor tensor);
WNN_EXPORT void wnnTensorRelease(WNNTensor tensor);

WNN_EXPORT void wnnTensorDestroy(WNNTensor tensor);

WNN_EXPORT WNNDataType wnnTensorGetDataType(WNNTensor tensor);
WNN_EXPORT WNNUint32List wnnTensorGetShape(WNNTensor tensor);
WNN_EXPORT size_t wnnTensorGetByteLength(WNNTensor tensor);
WNN_EXPORT bool wnnTensorGetReadable(WNNTensor tensor);
WNN_EXPORT bool wnnTensorGetWritable(WNNTensor tensor);
WNN_EXPORT bool wnnTensorGetConstant(WNNTensor tensor);

WNN_EXPORT WNNFuture wnnContextReadTensor(WNNContext context, WNNTensor tensor, void *data, size_t byteLength,
                                          WNNRequestCallbackInfo callbackInfo);

WNN_EXPORT WNNStatus wnnContextReadTensorSync(WNNContext context, WNNTensor tensor, void *data, size_t byteLength,
                                              size_t capacity, char *message);

WNN_EXPORT WNNStatus wnnContextWriteTensor(WNNContext context, WNNTensor tensor, const void *data, size_t byteLength);

typedef struct WNNNamedTensor {
    WNNStringView name;
    WNNTensor tensor;
} WNNNamedTensor;
#define WNN_NAMED_TENSOR_INIT { WNN_STRING_VIEW_INIT, NULL }

typedef struct WNNDispatchDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNGraph graph;
    size_t inputCount, outputCount;
    const WNNNamedTensor *inputs, *outputs;
} WNNDispatchDescriptor;
#define WNN_DISPATCH_DESCRIPTOR_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, 0, 0, NULL, NULL }

WNN_EXPORT WNNFuture wnnContextDispatch(WNNContext context, const WNNDispatchDescriptor *descriptor,
                                        WNNRequestCallbackInfo callbackInfo);

#ifdef __cplusplus
}
#endif

#endif
