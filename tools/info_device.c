// SPDX-License-Identifier: Apache-2.0
#include "tools/info_device.h"

#include "tools/info_model.h"
#include "tools/json.h"
#include "tools/memory.h"
#include "tools/target_file.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Devices
// ---------------------------------------------------------------------------------------------------------------

// A context on a device, as far as there is one.
struct probe {
    bool open;
    double seconds; // that opening took
    uint64_t max_tensor_bytes;
    bool flushes_denormals;
    struct error error;
};

// Adds what it compiles for to `object`, unless that is NULL.
static struct probe probe_device(uint32_t index, cJSON *object)
{
    char number[16];
    struct session session;
    struct probe probe = {.open = false};
    struct session_options options = SESSION_OPTIONS_INIT;
    snprintf(number, sizeof number, "%u", index);
    options.device = number;
    options.threads = 1;
    double begin = now();
    probe.open = session_open(&session, &options, &probe.error);
    probe.seconds = now() - begin;
    if (probe.open) {
        WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
        wnnContextGetOpSupportLimits(session.context, &limits);
        probe.max_tensor_bytes = limits.maxTensorByteLength;
        probe.flushes_denormals = wnn_context_flushes_denormals(session.context);
        if (object)
            target_json_add(object, session.context);
    }
    session_close(&session);
    return probe;
}

// "6d657361-3232-2e33-2e36-000000000000"
static const char *uuid_text(const uint8_t uuid[16], char text[37])
{
    char *at = text;
    for (unsigned i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    return text;
}

static const char *kind_name(WNNDeviceKind kind)
{
    static const char *const kinds[] = {"unknown", "other", "discrete", "integrated", "virtual", "processor"};
    return (size_t)kind < sizeof kinds / sizeof *kinds ? kinds[kind] : kinds[0];
}

static void print_processor(const WNNDeviceInfo *device, WNNContext context)
{
    WNNTargetInfo target = WNN_TARGET_INFO_INIT;
    printf("   cpu %s%s%s\n", STYLE_BOLD, SHOWN_STRING(device->name), STYLE_NONE);
    printf("       %s, signature 0x%08x, %u processors%s%s\n",
           device->vendorName[0] ? SHOWN_STRING(device->vendorName) : "unknown vendor", device->deviceId,
           device->processorCount, device->instructionSets[0] ? ", uses " : "",
           SHOWN_STRING(device->instructionSets));
    printf("       %s %s with %s\n", SHOWN_STRING(device->driverName),
           SHOWN_STRING(device->driverVersionText), SHOWN_STRING(device->driverInfo));
    if (wnnContextGetTarget(context, &target) == WNNStatus_Success)
        printf("       compiles for %s\n", SHOWN(wnn_string(target.target)));
}

static void print_driver(const WNNDeviceInfo *device)
{
    printf("       vendor %s (0x%04x), device 0x%04x\n", SHOWN_STRING(device->vendorName), device->vendorId,
           device->deviceId);
    printf("       driver %s, %s%s%s", device->driverName[0] ? SHOWN_STRING(device->driverName) : "unknown",
           SHOWN_STRING(device->driverVersionText), device->driverInfo[0] ? ", " : "",
           SHOWN_STRING(device->driverInfo));
    if (device->driverId)
        printf(" (id %u)", device->driverId);
    printf("\n");
}

static void print_device(const WNNDeviceInfo *device)
{
    printf("  %4u %s%s%s\n", device->index, STYLE_BOLD, SHOWN_STRING(device->name), STYLE_NONE);
    printf("       UUID %s\n", uuid_text(device->uuid, (char[37]){0}));
    printf("       %s, %s of memory, Vulkan %s\n", kind_name(device->kind),
           bytes_text(device->memoryBytes, (char[BYTES_TEXT]){0}), SHOWN_STRING(device->apiVersionText));
    print_driver(device);
    struct probe probe = probe_device(device->index, NULL);
    if (probe.open)
        printf("       tensors of up to %s, %s denormal numbers, opened in %.0f ms\n",
               bytes_text(probe.max_tensor_bytes, (char[BYTES_TEXT]){0}),
               probe.flushes_denormals ? "flushes" : "keeps", probe.seconds * 1e3);
    else
        printf("       %s\n", SHOWN_STRING(probe.error.message));
}

// The device type is that of contexts.
static cJSON *device_json(const WNNDeviceInfo *device)
{
    cJSON *object = must(cJSON_CreateObject());
    bool gpu = device->deviceType == WNNDeviceType_GPU;
    cJSON_AddStringToObject(object, "type", gpu ? "gpu" : "cpu");
    cJSON_AddStringToObject(object, "kind", kind_name(device->kind));
    cJSON_AddStringToObject(object, "name", device->name);
    cJSON_AddStringToObject(object, "vendor", device->vendorName);
    cJSON_AddNumberToObject(object, "vendor_id", device->vendorId);
    cJSON_AddNumberToObject(object, "device_id", device->deviceId);
    cJSON_AddStringToObject(object, "driver", device->driverName);
    cJSON_AddStringToObject(object, "driver_version", device->driverVersionText);
    cJSON_AddStringToObject(object, "driver_info", device->driverInfo);
    if (!gpu) {
        cJSON_AddNumberToObject(object, "processors", device->processorCount);
        cJSON_AddStringToObject(object, "instruction_sets", device->instructionSets);
        return object;
    }
    cJSON_AddNumberToObject(object, "driver_id", device->driverId);
    cJSON_AddNumberToObject(object, "index", device->index);
    cJSON_AddStringToObject(object, "uuid", uuid_text(device->uuid, (char[37]){0}));
    cJSON_AddNumberToObject(object, "memory_bytes", (double)device->memoryBytes);
    cJSON_AddStringToObject(object, "vulkan_version", device->apiVersionText);
    struct probe probe = probe_device(device->index, object);
    cJSON_AddBoolToObject(object, "usable", probe.open);
    if (probe.open) {
        cJSON_AddNumberToObject(object, "max_tensor_bytes", (double)probe.max_tensor_bytes);
        cJSON_AddBoolToObject(object, "flushes_denormals", probe.flushes_denormals);
        cJSON_AddNumberToObject(object, "open_ms", probe.seconds * 1e3);
    } else {
        cJSON_AddStringToObject(object, "error", probe.error.message);
    }
    return object;
}

// Backends by the names that --backend takes.
static cJSON *backends_json(void)
{
    cJSON *array = must(cJSON_CreateArray());
    for (unsigned i = 0; i < INFO_TARGETS; i++) {
        struct info_target target;
        info_target_open(&target, info_targets[i]);
        cJSON *item = must(cJSON_CreateObject());
        cJSON_AddStringToObject(item, "name", info_targets[i]);
        cJSON_AddBoolToObject(item, "available", target.open);
        if (target.open)
            cJSON_AddStringToObject(item, "device", wnn_context_device(target.session.context));
        else
            cJSON_AddStringToObject(item, "error", target.error.message);
        cJSON_AddItemToArray(array, item);
        info_target_close(&target);
    }
    return array;
}

void info_devices_print(bool json)
{
    enum {
        MAX_DEVICES = 32
    };
    static WNNDeviceInfo devices[MAX_DEVICES];
    size_t count;
    WNNDeviceInfo processor = WNN_DEVICE_INFO_INIT;
    struct info_target cpu;
    info_target_open(&cpu, "cpu");
    if (cpu.open)
        wnnContextGetDeviceInfo(cpu.session.context, &processor);
    wnnEnumerateDevices(MAX_DEVICES, devices, &count);
    count = count < MAX_DEVICES ? count : MAX_DEVICES;
    if (json) {
        cJSON *object = must(cJSON_CreateObject());
        cJSON_AddStringToObject(object, "version", wnnGetVersionText().data);
        cJSON_AddItemToObject(object, "backends", backends_json());
        cJSON *array = must(cJSON_AddArrayToObject(object, "devices"));
        if (cpu.open) {
            cJSON *item = device_json(&processor);
            target_json_add(item, cpu.session.context);
            cJSON_AddItemToArray(array, item);
        }
        info_target_close(&cpu);
        for (size_t i = 0; i < count; i++)
            cJSON_AddItemToArray(array, device_json(&devices[i]));
        json_print(object);
        return;
    }
    printf("%sdevices%s\n", STYLE_BOLD, STYLE_NONE);
    if (cpu.open)
        print_processor(&processor, cpu.session.context);
    info_target_close(&cpu);
    if (count == 0)
        printf("  no GPU\n");
    for (size_t i = 0; i < count; i++)
        print_device(&devices[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Limits
// ---------------------------------------------------------------------------------------------------------------

static bool same_limits(const WNNOperandLimits *a, const WNNOperandLimits *b)
{
    return memcmp(&a->limits, &b->limits, sizeof a->limits) == 0;
}

// "input, bias?: float32 or float16, rank 1; output: int32, rank 0 to 8": those of the same limits together.
static void print_operands(size_t count, const WNNOperandLimits *operands)
{
    for (size_t i = 0; i < count; i++) {
        const WNNTensorLimits *limits = &operands[i].limits;
        size_t first = 0;
        while (!same_limits(&operands[first], &operands[i]))
            first++;
        if (first < i)
            continue;
        const char *between = i ? "; " : "";
        for (size_t k = i; k < count; k++, between = ", ")
            if (same_limits(&operands[k], &operands[i]))
                printf("%s%s%s", between, operands[k].name.data, operands[k].isOptional ? "?" : "");
        printf(": %s, rank %s", wnn_dtypes_text(limits->dataTypes, (char[WNN_DTYPES_TEXT]){0}),
               ranks_text(limits->minRank, limits->maxRank, (char[RANKS_TEXT]){0}));
    }
    printf("\n");
}

static cJSON *operands_json(size_t count, const WNNOperandLimits *operands)
{
    cJSON *array = must(cJSON_CreateArray());
    for (size_t i = 0; i < count; i++) {
        cJSON *item = must(cJSON_CreateObject());
        cJSON_AddStringToObject(item, "name", operands[i].name.data);
        cJSON_AddBoolToObject(item, "optional", operands[i].isOptional);
        cJSON_AddItemToObject(item, "data_types", json_types(operands[i].limits.dataTypes));
        cJSON_AddNumberToObject(item, "min_rank", operands[i].limits.minRank);
        cJSON_AddNumberToObject(item, "max_rank", operands[i].limits.maxRank);
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

void info_limits_print(const struct session *session, bool json)
{
    WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
    const char *device = wnn_context_device(session->context);
    wnnContextGetOpSupportLimits(session->context, &limits);
    const char *layout = limits.preferredInputLayout == WNNInputOperandLayout_NCHW ? "nchw" : "nhwc";
    const WNNOperandLimits tensors[] = {{NULL, {"input", 5}, false, limits.input},
                                        {NULL, {"constant", 8}, false, limits.constant},
                                        {NULL, {"output", 6}, false, limits.output}};
    size_t tensor_count = sizeof tensors / sizeof *tensors;
    if (json) {
        cJSON *object = must(cJSON_CreateObject());
        cJSON_AddStringToObject(object, "version", wnnGetVersionText().data);
        cJSON_AddStringToObject(object, "backend", session->backend->name);
        cJSON_AddStringToObject(object, "device", device);
        cJSON_AddNumberToObject(object, "max_tensor_bytes", (double)limits.maxTensorByteLength);
        cJSON_AddStringToObject(object, "preferred_layout", layout);
        cJSON_AddItemToObject(object, "tensors", operands_json(tensor_count, tensors));
        cJSON *operators = must(cJSON_AddArrayToObject(object, "operators"));
        for (size_t i = 0; i < limits.operatorCount; i++) {
            const WNNOperatorLimits *from = &limits.operators[i];
            cJSON *item = must(cJSON_CreateObject());
            cJSON_AddStringToObject(item, "name", from->name.data);
            cJSON_AddItemToObject(item, "operands", operands_json(from->operandCount, from->operands));
            cJSON_AddItemToArray(operators, item);
        }
        json_print(object);
        return;
    }
    printf("%slimits of %s%s\n", STYLE_BOLD, SHOWN_STRING(device), STYLE_NONE);
    printf("  %-24s%llu bytes (%s)\n", "largest tensor", (unsigned long long)limits.maxTensorByteLength,
           bytes_text(limits.maxTensorByteLength, (char[BYTES_TEXT]){0}));
    printf("  %-24s%s\n", "preferred layout", layout);
    printf("  %-24s", "tensors");
    print_operands(tensor_count, tensors);
    printf("%soperators%s (%zu)\n", STYLE_BOLD, STYLE_NONE, limits.operatorCount);
    for (size_t i = 0; i < limits.operatorCount; i++) {
        printf("  %-24s", limits.operators[i].name.data);
        print_operands(limits.operators[i].operandCount, limits.operators[i].operands);
    }
}
