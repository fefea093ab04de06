// SPDX-License-Identifier: Apache-2.0
//
// Recording and building. Operands and activations are numbers in JavaScript: indices into their builder's
// arrays, checked here, so that no JavaScript object keeps a pointer.

#include "conformance/js/addon/addon.h"

#include <webnn/compiled.h>

#include <string.h>

// One call while its arguments are read.
struct call {
    napi_env env;
    struct handle *builder;
    struct scratch scratch;
    napi_value arguments[6];
};

static bool begin(struct call *call, napi_env env, napi_callback_info info, size_t count)
{
    *call = (struct call){.env = env};
    if (!wnn_js_arguments(env, info, count, call->arguments))
        return false;
    call->builder = wnn_js_handle(env, call->arguments[0], HANDLE_BUILDER);
    if (call->builder && call->builder->of.builder)
        return true;
    if (call->builder)
        wnn_js_throw(env, WNNStatus_InvalidStateError,
                     (WNNStringView){"the builder was released", WNN_STRLEN});
    return false;
}

static void throw_builder_error(const struct call *call)
{
    WNNGraphBuilder builder = call->builder->of.builder;
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    wnn_js_throw(call->env, error.status, error.message);
    wnnGraphBuilderClearError(builder);
}

static bool append_operand(const struct call *call, WNNOperand operand)
{
    struct handle *builder = call->builder;
    WNNOperand *operands = wnn_js_grow(call->env, builder->operands, builder->operand_count,
                                       &builder->operand_capacity, sizeof *operands);
    if (!operands)
        return false;
    builder->operands = operands;
    operands[builder->operand_count++] = operand;
    return true;
}

// {id, dataType, shape}
static napi_value operand_value(const struct call *call, WNNOperand operand)
{
    napi_value object;
    if (!append_operand(call, operand) || !wnn_js_ok(call->env, napi_create_object(call->env, &object)) ||
        !wnn_js_set_u32(call->env, object, "id", (double)(call->builder->operand_count - 1)) ||
        !wnn_js_set_descriptor(call->env, object, wnnOperandGetDataType(operand), wnnOperandGetShape(operand),
                               call->builder->of.builder, NULL))
        return NULL;
    return object;
}

// Ends a call that records at most one operand.
static napi_value end(struct call *call, WNNOperand operand)
{
    napi_value value = NULL;
    bool pending = false;
    napi_is_exception_pending(call->env, &pending);
    if (operand)
        value = operand_value(call, operand);
    else if (!pending && call->builder)
        throw_builder_error(call);
    wnn_js_scratch_free(&call->scratch);
    return value;
}

static bool get_operand(const struct call *call, napi_value value, WNNOperand *operand)
{
    uint32_t id;
    if (!wnn_js_get_u32(call->env, value, &id))
        return false;
    if (id < call->builder->operand_count) {
        *operand = call->builder->operands[id];
        return true;
    }
    wnn_js_throw(call->env, WNNStatus_TypeError, (WNNStringView){"there is no such operand", WNN_STRLEN});
    return false;
}

static bool get_operands(struct call *call, napi_value array, size_t *count, WNNOperand **operands)
{
    uint32_t length;
    napi_value item;
    if (!wnn_js_ok(call->env, napi_get_array_length(call->env, array, &length)) ||
        !(*operands = wnn_js_allocate(call->env, &call->scratch, length, sizeof **operands)))
        return false;
    for (uint32_t i = 0; i < length; i++)
        if (!wnn_js_ok(call->env, napi_get_element(call->env, array, i, &item)) ||
            !get_operand(call, item, &(*operands)[i]))
            return false;
    *count = length;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and constants
// ---------------------------------------------------------------------------------------------------------------

// createBuilder(context)
napi_value wnn_js_create_builder(napi_env env, napi_callback_info info)
{
    napi_value argument, external;
    struct handle *context;
    WNNGraphBuilder builder;
    if (!wnn_js_arguments(env, info, 1, &argument) ||
        !(context = wnn_js_handle(env, argument, HANDLE_CONTEXT)))
        return NULL;
    WNNStatus status = wnnContextCreateGraphBuilder(context->of.context, &builder);
    if (status != WNNStatus_Success) {
        wnn_js_throw(env, status, (WNNStringView){context->instance->message, WNN_STRLEN});
        return NULL;
    }
    struct handle *handle = wnn_js_handle_create(env, HANDLE_BUILDER, context, &external);
    if (!handle) {
        wnnGraphBuilderRelease(builder);
        return NULL;
    }
    handle->of.builder = builder;
    return external;
}

// releaseBuilder(builder): gives its memory back now. The external stays, and has no operands.
napi_value wnn_js_release_builder(napi_env env, napi_callback_info info)
{
    struct call call;
    if (!begin(&call, env, info, 1))
        return NULL;
    wnnGraphBuilderRelease(call.builder->of.builder);
    call.builder->of.builder = NULL;
    call.builder->operand_count = call.builder->activation_count = 0;
    wnn_js_account(env, call.builder->context);
    return NULL;
}

static bool get_descriptor(struct call *call, napi_value type, napi_value shape,
                           WNNOperandDescriptor *descriptor)
{
    *descriptor = (WNNOperandDescriptor)WNN_OPERAND_DESCRIPTOR_INIT;
    return wnn_js_get_type(call->env, type, &descriptor->dataType) &&
           wnn_js_get_u32s(call->env, shape, &call->scratch, &descriptor->shape);
}

// A shape whose items are sizes, names, or null.
static bool get_dimensions(struct call *call, napi_value shape, WNNNamedDimensions *named,
                           WNNUint32List *sizes)
{
    uint32_t count;
    napi_value item;
    napi_valuetype type;
    if (!wnn_js_ok(call->env, napi_get_array_length(call->env, shape, &count)))
        return false;
    uint32_t *data = wnn_js_allocate(call->env, &call->scratch, count, sizeof *data);
    WNNDimension *dimensions =
        data ? wnn_js_allocate(call->env, &call->scratch, count, sizeof *dimensions) : NULL;
    if (!dimensions)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
        if (!wnn_js_ok(call->env, napi_get_element(call->env, shape, i, &item)) ||
            !wnn_js_ok(call->env, napi_typeof(call->env, item, &type)))
            return false;
        if (type == napi_null)
            dimensions[i].isUnknown = true;
        else if (type == napi_string
                     ? !wnn_js_get_string(call->env, item, &call->scratch, &dimensions[i].name)
                     : !wnn_js_get_u32(call->env, item, &data[i]))
            return false;
    }
    named->dimensionCount = count;
    named->dimensions = dimensions;
    *sizes = (WNNUint32List){data, count};
    return true;
}

// input(builder, name, dataType, shape): the items of the shape are sizes, names, or null
napi_value wnn_js_input(napi_env env, napi_callback_info info)
{
    struct call call;
    WNNStringView name;
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNOperand operand = NULL;
    descriptor.nextInChain = &named.chain;
    if (begin(&call, env, info, 4) && wnn_js_get_string(env, call.arguments[1], &call.scratch, &name) &&
        wnn_js_get_type(env, call.arguments[2], &descriptor.dataType) &&
        get_dimensions(&call, call.arguments[3], &named, &descriptor.shape))
        operand = wnnGraphBuilderInput(call.builder->of.builder, name, &descriptor);
    return end(&call, operand);
}

// constant(builder, dataType, shape, bytes)
napi_value wnn_js_constant(napi_env env, napi_callback_info info)
{
    struct call call;
    WNNOperandDescriptor descriptor;
    WNNOperand operand = NULL;
    void *data;
    size_t byte_length;
    if (begin(&call, env, info, 4) &&
        get_descriptor(&call, call.arguments[1], call.arguments[2], &descriptor) &&
        wnn_js_get_bytes(env, call.arguments[3], &data, &byte_length)) {
        operand = wnnGraphBuilderConstant(call.builder->of.builder, &descriptor, data, byte_length);
        wnn_js_account(env, call.builder->context);
    }
    return end(&call, operand);
}

// scalarConstant(builder, dataType, number)
napi_value wnn_js_scalar_constant(napi_env env, napi_callback_info info)
{
    struct call call;
    WNNDataType type;
    WNNNumber number;
    WNNOperand operand = NULL;
    if (begin(&call, env, info, 3) && wnn_js_get_type(env, call.arguments[1], &type) &&
        wnn_js_get_number(env, call.arguments[2], &number))
        operand = wnnGraphBuilderScalarConstant(call.builder->of.builder, type, number);
    return end(&call, operand);
}

// rangeConstant(builder, dataType, start, end, step)
napi_value wnn_js_range_constant(napi_env env, napi_callback_info info)
{
    struct call call;
    WNNDataType type;
    WNNNumber start, stop, step;
    WNNOperand operand = NULL;
    if (begin(&call, env, info, 5) && wnn_js_get_type(env, call.arguments[1], &type) &&
        wnn_js_get_number(env, call.arguments[2], &start) &&
        wnn_js_get_number(env, call.arguments[3], &stop) && wnn_js_get_number(env, call.arguments[4], &step))
        operand = wnnGraphBuilderRangeConstant(call.builder->of.builder, start, stop, step, type);
    return end(&call, operand);
}

// tensorConstant(builder, tensor)
napi_value wnn_js_tensor_constant(napi_env env, napi_callback_info info)
{
    struct call call;
    struct handle *tensor;
    WNNOperand operand = NULL;
    if (begin(&call, env, info, 2) && (tensor = wnn_js_handle(env, call.arguments[1], HANDLE_TENSOR)))
        operand = wnnGraphBuilderTensorConstant(call.builder->of.builder, tensor->of.tensor);
    return end(&call, operand);
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static bool get_activation(const struct call *call, napi_value value, WNNActivation *activation)
{
    uint32_t id;
    if (!wnn_js_get_u32(call->env, value, &id))
        return false;
    if (id < call->builder->activation_count) {
        *activation = call->builder->activations[id];
        return true;
    }
    wnn_js_throw(call->env, WNNStatus_TypeError, (WNNStringView){"there is no such activation", WNN_STRLEN});
    return false;
}

static bool get_activations(struct call *call, napi_value array, WNNActivationList *list)
{
    uint32_t count;
    napi_value item;
    WNNActivation *data;
    if (!wnn_js_ok(call->env, napi_get_array_length(call->env, array, &count)) ||
        !(data = wnn_js_allocate(call->env, &call->scratch, count, sizeof *data)))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!wnn_js_ok(call->env, napi_get_element(call->env, array, i, &item)) ||
            !get_activation(call, item, &data[i]))
            return false;
    *list = (WNNActivationList){data, count};
    return true;
}

static bool get_enumerator(const struct call *call, napi_value value, const WNNAttributeInfo *info,
                           int32_t *number)
{
    char text[24];
    size_t length;
    if (!wnn_js_ok(call->env, napi_get_value_string_utf8(call->env, value, text, sizeof text, &length)))
        return false;
    *number = 0; // which the library refuses
    for (size_t i = 0; i < info->enumeratorCount; i++)
        if (strcmp(info->enumerators[i], text) == 0)
            *number = (int32_t)i + 1;
    return true;
}

static bool get_value(struct call *call, napi_value from, const WNNAttributeInfo *info,
                      WNNAttributeValue *value)
{
    value->type = info->type;
    switch (info->type) {
    case WNNAttributeType_Uint32:
        return wnn_js_get_u32(call->env, from, &value->value.u32);
    case WNNAttributeType_Int32:
        return wnn_js_ok(call->env, napi_get_value_int32(call->env, from, &value->value.i32));
    case WNNAttributeType_Bool:
        return wnn_js_get_bool(call->env, from, &value->value.boolean);
    case WNNAttributeType_Float64:
        return wnn_js_ok(call->env, napi_get_value_double(call->env, from, &value->value.f64));
    case WNNAttributeType_Number:
        return wnn_js_get_number(call->env, from, &value->value.number);
    case WNNAttributeType_Uint32List:
        return wnn_js_get_u32s(call->env, from, &call->scratch, &value->value.u32List);
    case WNNAttributeType_Float32List:
        return wnn_js_get_f32s(call->env, from, &call->scratch, &value->value.f32List);
    case WNNAttributeType_DataType:
        return wnn_js_get_type(call->env, from, &value->value.dataType);
    case WNNAttributeType_Enumerator:
        return get_enumerator(call, from, info, &value->value.i32);
    case WNNAttributeType_Activation:
        return get_activation(call, from, &value->value.activation);
    case WNNAttributeType_ActivationList:
        return get_activations(call, from, &value->value.activationList);
    default: // operands have no attribute info
        return false;
    }
}

static bool is_list(WNNAttributeType type)
{
    return type == WNNAttributeType_Uint32List || type == WNNAttributeType_Float32List ||
           type == WNNAttributeType_ActivationList;
}

// What `object` has by that name; *given: it has something.
static bool find_member(const struct call *call, napi_value object, WNNStringView name, napi_value *value,
                        bool *given)
{
    if (!wnn_js_ok(call->env, napi_get_named_property(call->env, object, name.data, value)))
        return false;
    *given = !wnn_js_is_undefined(call->env, *value);
    return true;
}

static bool add_operands(struct call *call, uint32_t op, napi_value object, WNNNamedAttribute *list,
                         WNNOperatorCall *made)
{
    WNNOperandInfo info = WNN_OPERAND_INFO_INIT;
    for (uint32_t i = 0; wnnGetOperandInfo(op, i, &info) == WNNStatus_Success; i++) {
        napi_value value;
        bool given;
        if (info.kind != WNNOperandKind_Option)
            continue;
        if (!find_member(call, object, info.name, &value, &given))
            return false;
        if (!given)
            continue;
        WNNNamedAttribute *attribute = &list[made->attributeCount++];
        *attribute = (WNNNamedAttribute){info.name, {.type = WNNAttributeType_Operand}};
        if (!get_operand(call, value, &attribute->value.value.operand))
            return false;
    }
    return true;
}

// Where attributes share a name, a list goes to the one that takes lists; where they share a place, the last
// counts.
static bool add_attributes(struct call *call, uint32_t op, napi_value object, WNNNamedAttribute *list,
                           WNNOperatorCall *made)
{
    WNNAttributeInfo info = WNN_ATTRIBUTE_INFO_INIT;
    size_t last = 0;
    uint32_t place = WNN_INDEX_NONE;
    for (uint32_t i = 0; wnnGetAttributeInfo(op, i, &info) == WNNStatus_Success; i++) {
        napi_value value;
        bool given, array = false;
        if (!find_member(call, object, info.name, &value, &given))
            return false;
        if (!given || napi_is_array(call->env, value, &array) != napi_ok || array != is_list(info.type))
            continue;
        if (info.place != place)
            last = made->attributeCount++;
        place = info.place;
        list[last].name = info.name;
        if (!get_value(call, value, &info, &list[last].value))
            return false;
    }
    return true;
}

// The call of the operator with that number, with the attributes that `object` has.
static bool get_call(struct call *call, napi_value number, napi_value object, uint32_t *op,
                     WNNOperatorCall *made)
{
    WNNOperatorInfo info = WNN_OPERATOR_INFO_INIT;
    *made = (WNNOperatorCall)WNN_OPERATOR_CALL_INIT;
    if (!wnn_js_get_u32(call->env, number, op))
        return false;
    if (wnnGetOperatorInfo(*op, &info) != WNNStatus_Success) {
        wnn_js_throw(call->env, WNNStatus_TypeError,
                     (WNNStringView){"there is no such operator", WNN_STRLEN});
        return false;
    }
    made->name = info.name;
    WNNNamedAttribute *list =
        wnn_js_allocate(call->env, &call->scratch, info.operandCount + info.attributeCount, sizeof *list);
    made->attributes = list;
    return list && add_operands(call, *op, object, list, made) &&
           add_attributes(call, *op, object, list, made);
}

// Outputs that an operator can have: split's are as many as it is asked for.
static size_t capacity_of(const WNNOperatorCall *made)
{
    size_t capacity = 8;
    for (size_t i = 0; i < made->attributeCount; i++) {
        const WNNAttributeValue *value = &made->attributes[i].value;
        if (strcmp(made->attributes[i].name.data, "splits") == 0)
            capacity = value->type == WNNAttributeType_Uint32 ? value->value.u32 : value->value.u32List.count;
    }
    return capacity > 8192 ? 8192 : capacity; // more are refused
}

// The results, [{id, dataType, shape}].
static napi_value record(struct call *call)
{
    WNNOperatorCall made;
    uint32_t op;
    WNNOperand *operands, *outputs;
    napi_value array, value;
    napi_env env = call->env;
    if (!get_call(call, call->arguments[1], call->arguments[3], &op, &made) ||
        !get_operands(call, call->arguments[2], &made.inputCount, &operands) ||
        !wnn_js_get_string(env, call->arguments[4], &call->scratch, &made.label))
        return NULL;
    made.inputs = operands;
    size_t capacity = capacity_of(&made);
    if (!(outputs = wnn_js_allocate(env, &call->scratch, capacity, sizeof *outputs)))
        return NULL;
    size_t count = wnnGraphBuilderCall(call->builder->of.builder, &made, capacity, outputs);
    if (count == 0) {
        throw_builder_error(call);
        return NULL;
    }
    if (!wnn_js_ok(env, napi_create_array_with_length(env, count, &array)))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!(value = operand_value(call, outputs[i])) ||
            !wnn_js_ok(env, napi_set_element(env, array, (uint32_t)i, value)))
            return NULL;
    return array;
}

// operator(builder, number, operands, attributes, label)
napi_value wnn_js_operator(napi_env env, napi_callback_info info)
{
    struct call call;
    napi_value value = begin(&call, env, info, 5) ? record(&call) : NULL;
    wnn_js_scratch_free(&call.scratch);
    return value;
}

static napi_value activation(struct call *call)
{
    WNNOperatorCall made;
    uint32_t op;
    napi_value id;
    struct handle *builder = call->builder;
    if (!get_call(call, call->arguments[1], call->arguments[2], &op, &made))
        return NULL;
    WNNActivation result = wnnGraphBuilderCallActivation(builder->of.builder, &made);
    if (!result) {
        throw_builder_error(call);
        return NULL;
    }
    WNNActivation *activations = wnn_js_grow(call->env, builder->activations, builder->activation_count,
                                             &builder->activation_capacity, sizeof *activations);
    if (!activations)
        return NULL;
    builder->activations = activations;
    activations[builder->activation_count++] = result;
    return wnn_js_ok(call->env, napi_create_double(call->env, (double)(builder->activation_count - 1), &id))
               ? id
               : NULL;
}

// activation(builder, number, attributes): its number
napi_value wnn_js_activation(napi_env env, napi_callback_info info)
{
    struct call call;
    napi_value value = begin(&call, env, info, 3) ? activation(&call) : NULL;
    wnn_js_scratch_free(&call.scratch);
    return value;
}

// ---------------------------------------------------------------------------------------------------------------

static WNNNamedOperand *get_outputs(struct call *call, size_t *count)
{
    napi_env env = call->env;
    napi_value name;
    WNNOperand *operands;
    if (!get_operands(call, call->arguments[2], count, &operands))
        return NULL;
    WNNNamedOperand *outputs = wnn_js_allocate(env, &call->scratch, *count, sizeof *outputs);
    if (!outputs)
        return NULL;
    for (uint32_t i = 0; i < *count; i++) { // names that are missing are undefined, no strings
        outputs[i].operand = operands[i];
        if (!wnn_js_ok(env, napi_get_element(env, call->arguments[1], i, &name)) ||
            !wnn_js_get_string(env, name, &call->scratch, &outputs[i].name))
            return NULL;
    }
    return outputs;
}

static napi_value build(struct call *call)
{
    size_t count;
    struct request *request;
    bool savable = false;
    const WNNSavable chain = WNN_SAVABLE_INIT;
    WNNNamedOperand *outputs = get_outputs(call, &count);
    if (!outputs ||
        !(wnn_js_is_undefined(call->env, call->arguments[3]) ||
          wnn_js_get_bool(call->env, call->arguments[3], &savable)) ||
        !(request = wnn_js_request(call->env, REQUEST_BUILD, call->builder->context)))
        return NULL;
    wnnGraphBuilderBuild(call->builder->of.builder, count, outputs,
                         (WNNBuildCallbackInfo){.nextInChain = savable ? &chain.chain : NULL,
                                                .mode = WNNCallbackMode_AllowSpontaneous,
                                                .callback = wnn_js_on_built,
                                                .userdata1 = request});
    return wnn_js_request_started(call->env, request);
}

// build(builder, names, operands, isSavable): a promise of {handle, inputs: [{name, dataType, shape}],
// outputs}
napi_value wnn_js_build(napi_env env, napi_callback_info info)
{
    struct call call;
    napi_value value = begin(&call, env, info, 4) ? build(&call) : NULL;
    wnn_js_scratch_free(&call.scratch);
    return value;
}

// ---------------------------------------------------------------------------------------------------------------
// What was recorded, as bytes
// ---------------------------------------------------------------------------------------------------------------

struct recording {
    napi_env env;
    WNNStringView *ids; // of constants, by their index in the builder
    size_t id_count;
    napi_value buffer;
    char *next; // where the next bytes go
};

static WNNStatus refer(const WNNRecordedOperand *constant, WNNConstantReference *reference, void *data,
                       void *unused)
{
    const struct recording *recording = data;
    size_t index = wnnOperandGetIndex(constant->operand);
    (void)unused;
    if (index >= recording->id_count || recording->ids[index].length == 0)
        return WNNStatus_Success;
    reference->form = WNNConstantForm_Id;
    reference->id = recording->ids[index].data;
    reference->idLength = recording->ids[index].length;
    return WNNStatus_Success;
}

static WNNStatus append(const void *bytes, size_t size, uint64_t rest, void *data, void *unused)
{
    struct recording *recording = data;
    (void)unused;
    if (!recording->buffer) {
        void *memory;
        if (rest > SIZE_MAX - size || napi_create_arraybuffer(recording->env, size + (size_t)rest, &memory,
                                                              &recording->buffer) != napi_ok)
            return WNNStatus_OutOfMemory;
        recording->next = memory;
    }
    memcpy(recording->next, bytes, size);
    recording->next += size;
    return WNNStatus_Success;
}

static bool get_ids(struct call *call, struct recording *recording)
{
    napi_env env = call->env;
    size_t count;
    WNNOperand *constants;
    recording->id_count = wnnGraphBuilderGetOperandCount(call->builder->of.builder);
    recording->ids = wnn_js_allocate(env, &call->scratch, recording->id_count, sizeof *recording->ids);
    if (!recording->ids || !get_operands(call, call->arguments[3], &count, &constants))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        napi_value item;
        void *bytes;
        size_t length;
        if (!wnn_js_ok(env, napi_get_element(env, call->arguments[4], i, &item)) ||
            !wnn_js_get_bytes(env, item, &bytes, &length))
            return false;
        recording->ids[wnnOperandGetIndex(constants[i])] = (WNNStringView){bytes, length};
    }
    return true;
}

static napi_value serialize(struct call *call)
{
    struct recording recording = {.env = call->env};
    WNNSerializeDescriptor descriptor = WNN_SERIALIZE_DESCRIPTOR_INIT;
    char message[1024] = "";
    if (!(descriptor.outputs = get_outputs(call, &descriptor.outputCount)) || !get_ids(call, &recording))
        return NULL;
    descriptor.refer = refer;
    descriptor.write = append;
    descriptor.userdata1 = &recording;
    WNNStatus status =
        wnnGraphBuilderSerialize(call->builder->of.builder, &descriptor, sizeof message, message);
    if (status == WNNStatus_Success)
        return recording.buffer;
    wnn_js_throw(call->env, status, (WNNStringView){message, WNN_STRLEN});
    return NULL;
}

// serialize(builder, names, operands, constants, ids): an ArrayBuffer of all that the builder holds, and of
// outputs. An id, an array of bytes, stands for each of these constants; others are there by value.
napi_value wnn_js_serialize(napi_env env, napi_callback_info info)
{
    struct call call;
    napi_value value = begin(&call, env, info, 5) ? serialize(&call) : NULL;
    wnn_js_scratch_free(&call.scratch);
    return value;
}
