// SPDX-License-Identifier: Apache-2.0
//
// Ids and versions of devices and drivers, and what becomes of them on the device that there is.

#include "conformance/unit/differential_fixture.h"
#include "vulkan/device/identity.h"

static void test_vendors(void)
{
    static const struct {
        uint32_t id;
        const char *name;
    } vendors[] = {{0x10DE, "NVIDIA"},   {0x1002, "AMD"},   {0x8086, "Intel"}, {0x13B5, "Arm"},
                   {0x5143, "Qualcomm"}, {0x106B, "Apple"}, {0x10005, "Mesa"}, {0x10006, "PoCL"}};
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        REQUIRE_EQUAL_STR(wnn_gpu_vendor_name(vendors[i].id), vendors[i].name);
    REQUIRE(wnn_gpu_vendor_name(0) == NULL && wnn_gpu_vendor_name(0xFFFFFFFF) == NULL);
}

static void test_versions(void)
{
    static const struct {
        uint32_t vendor, driver, version;
        const char *text;
    } versions[] = {
        {0x10DE, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 570u << 22 | 124 << 14 | 6 << 6, "570.124.06"},
        {0x10DE, 0, 535u << 22 | 54 << 14 | 3 << 6, "535.54.03"},
        {0x10DE, 0, 390u << 22 | 48 << 14, "390.48"},
        {0x10DE, 0, 391u << 22 | 1 << 14 | 0 << 6 | 7, "391.01.00.07"},
        {0x10DE, VK_DRIVER_ID_NVIDIA_PROPRIETARY, UINT32_MAX, "1023.255.255.63"},
        // Mesa's driver for NVIDIA's devices counts as Mesa.
        {0x10DE, VK_DRIVER_ID_MESA_NVK, 24u << 22 | 1 << 12 | 5, "24.1.5"},
        {0x8086, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, 101u << 14 | 2111, "101.2111"},
        {0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 22u << 22 | 3 << 12 | 6, "22.3.6"},
        {0x1002, VK_DRIVER_ID_MESA_RADV, 25u << 22 | 0 << 12 | 7, "25.0.7"},
        {0x1002, VK_DRIVER_ID_AMD_PROPRIETARY, 2u << 22 | 0 << 12 | 279, "2.0.279"},
        {0x5143, VK_DRIVER_ID_QUALCOMM_PROPRIETARY, 512u << 22 | 762 << 12 | 12, "512.762.12"},
        {0x106B, VK_DRIVER_ID_MOLTENVK, 10211, "1.2.11"},
        {0x10005, VK_DRIVER_ID_MESA_LLVMPIPE, 1, "0.0.1"},
        {0, 0, 0, "0.0.0"},
    };
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        char buffer[64];
        struct text text = TEXT(buffer);
        wnn_gpu_driver_version(versions[i].vendor, versions[i].driver, versions[i].version, &text);
        REQUIRE_EQUAL_STR(buffer, versions[i].text);
    }
}

// The context's device is the one that the list has at its index.
static void test_device(WNNContext context)
{
    WNNDeviceInfo all[8] = {WNN_DEVICE_INFO_INIT}, info = WNN_DEVICE_INFO_INIT;
    size_t count = count_devices(8, all);
    wnnContextGetDeviceInfo(context, &info);
    REQUIRE(info.index < count && info.index < 8);
    REQUIRE(info.isUsable);
    REQUIRE_EQUAL_INT(info.deviceType, WNNDeviceType_GPU);
    REQUIRE(memcmp(&info, &all[info.index], sizeof info) == 0);
    REQUIRE_EQUAL_STR(info.name, wnn_context_device(context));
    REQUIRE(info.vendorName[0] && info.driverVersionText[0]);
    char version[32];
    snprintf(version, sizeof version, "%u.%u.", info.apiVersion >> 22 & 127, info.apiVersion >> 12 & 1023);
    REQUIRE(strncmp(info.apiVersionText, version, strlen(version)) == 0);
    if (info.apiVersion >= VK_API_VERSION_1_2)
        REQUIRE(info.driverId > 0 && info.driverName[0]);
    if (info.driverId == VK_DRIVER_ID_MESA_LLVMPIPE) {
        REQUIRE_EQUAL_STR(info.vendorName, "Mesa");
        REQUIRE_EQUAL_STR(info.driverName, "llvmpipe");
        REQUIRE_EQUAL_INT(info.kind, WNNDeviceKind_Processor);
    }
    REQUIRE_EQUAL_INT(info.processorCount, 0);
}

// A product, which has a choice of kernels: on matrix units, in tiles, or an element at a time.
static WNNNodeInfo product_of(const struct backend *backend, WNNDataType type, uint32_t size,
                              char reason[256])
{
    static uint16_t weights[512 * 512];
    WNNContext context = create_on(backend);
    WNNGraphBuilder builder = create_builder(context);
    const uint32_t dims[] = {size, size};
    WNNOperandDescriptor descriptor = {NULL, type, {dims, 2}};
    WNNOperand a = wnnGraphBuilderInput(builder, view("a"), &descriptor),
               b = type == WNNDataType_Float16 ? wnnGraphBuilderConstant(builder, &descriptor, weights,
                                                                         size * size * sizeof weights[0])
                                               : wnnGraphBuilderInput(builder, view("b"), &descriptor);
    WNNNamedOperand output = {view("y"), wnnGraphBuilderMatmul(builder, a, b, NULL)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNodeInfo node = WNN_NODE_INFO_INIT;
    REQUIRE_EQUAL_INT(nodes_of(graph, 1, &node), 1);
    REQUIRE(node.reason.length < 256);
    memcpy(reason, node.reason.data, node.reason.length + 1);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    wnnGraphGetInfo(graph, &info);
    REQUIRE(info.deviceBytes > 0 && info.lowerNanoseconds > 0);
    if (type == WNNDataType_Float16) {
        REQUIRE_EQUAL_INT(info.constantBytes, size * size * sizeof weights[0]);
        REQUIRE(info.weightBytes >= info.constantBytes && info.deviceBytes >= info.weightBytes);
    }
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
    return node;
}

static void test_kernels(void)
{
    char reason[256];
    WNNNodeInfo node = product_of(vulkan_minimal(), WNNDataType_Float32, 128, reason);
    REQUIRE_EQUAL_VIEW(node.kernel, "product");
    REQUIRE_CONTAINS(reason, "no matrix units");
    node = product_of(&wnn_backend_vulkan, WNNDataType_Float32, 4, reason);
    REQUIRE_EQUAL_VIEW(node.kernel, "matmul");
    REQUIRE_CONTAINS(reason, "too small");
    node = product_of(&wnn_backend_vulkan, WNNDataType_Float16, 512, reason);
    REQUIRE((strcmp(node.kernel.data, "cooperative") == 0) == (reason[0] == 0));
    node = product_of(vulkan_matrices(), WNNDataType_Float16, 128, reason);
    REQUIRE_EQUAL_VIEW(node.kernel, "cooperative");
    REQUIRE_EQUAL_STR(reason, "");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_vendors());
    CASE(test_versions());
    WNNContext context = create_on(&wnn_backend_vulkan);
    if (!context)
        return cases_skip("there is no device");
    CASE(test_device(context));
    wnnContextRelease(context);
    CASE(test_kernels());
    return cases_end();
}
