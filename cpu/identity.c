// SPDX-License-Identifier: Apache-2.0
//
// Who the processor is, by its own registers: no file is opened.

#include "cpu/identity.h"

#include "cpu/simd/isa.h"
#include "cpu/simd/tiles.h"
#include "cpu/xnnpack/xnnpack.h"
#include "lib/text.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)

static void identify_vendor(WNNDeviceInfo *info)
{
    static const struct {
        char id[13];
        uint32_t pci;
        const char *name;
    } vendors[] = {{"GenuineIntel", 0x8086, "Intel"},
                   {"AuthenticAMD", 0x1022, "AMD"},
                   {"HygonGenuine", 0x1D94, "Hygon"},
                   {"CentaurHauls", 0x1106, "VIA"},
                   {"  Shanghai  ", 0x1D17, "Zhaoxin"}};
    uint32_t highest, words[3];
    char id[13] = "";
    struct text name = TEXT(info->vendorName);
    if (!__get_cpuid(0, &highest, &words[0], &words[2], &words[1]))
        return;
    memcpy(id, words, sizeof words);
    const char *known = id;
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (strcmp(vendors[i].id, id) == 0) {
            info->vendorId = vendors[i].pci;
            known = vendors[i].name;
        }
    wnn_text_add(&name, "%s", known);
}

static void identify_model(WNNDeviceInfo *info)
{
    uint32_t words[12], unused[3];
    char brand[sizeof words + 1] = "";
    struct text name = TEXT(info->name);
    __get_cpuid(1, &info->deviceId, &unused[0], &unused[1], &unused[2]);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t *part = &words[4 * i];
        if (!__get_cpuid(0x80000002u + i, &part[0], &part[1], &part[2], &part[3]))
            return;
    }
    memcpy(brand, words, sizeof words);
    size_t length = strlen(brand);
    while (length > 0 && brand[length - 1] == ' ')
        length--;
    brand[length] = 0;
    wnn_text_add(&name, "%s", brand + strspn(brand, " "));
}

static void list_instructions(struct text *text)
{
    bool avx2 = wnn_isa() >= WNN_ISA_AVX2;
#define LIST(name, has)                                                                                      \
    if (has)                                                                                                 \
    wnn_text_add(text, "%s%s", text->length ? " " : "", name)
    LIST("AVX2", WNN_CPU_HAS("avx2"));
    LIST("FMA", WNN_CPU_HAS("fma"));
    LIST("F16C", avx2);
    LIST("AVX-VNNI", wnn_has_avx_vnni() && !wnn_has_avx512_vnni());
    LIST("AVX-512F", avx2 && WNN_CPU_HAS("avx512f"));
    LIST("AVX-512DQ", avx2 && WNN_CPU_HAS("avx512dq"));
    LIST("AVX-512BW", avx2 && WNN_CPU_HAS("avx512bw"));
    LIST("AVX-512VL", avx2 && WNN_CPU_HAS("avx512vl"));
    LIST("AVX-512VBMI", wnn_has_avx512_vbmi());
    LIST("AVX-512VNNI", wnn_has_avx512_vnni());
    LIST("AMX-TILE", wnn_has_amx());
    LIST("AMX-INT8", wnn_has_amx());
#undef LIST
}

static void identify_processor(WNNDeviceInfo *info)
{
    struct text text = TEXT(info->instructionSets);
    identify_vendor(info);
    identify_model(info);
    list_instructions(&text);
}

#elif defined(__aarch64__)

struct arm_name {
    uint32_t id, pci;
    const char *name;
};

// Those who make cores, by the first byte of MIDR_EL1.
static const struct arm_name makers[] = {{0x41, 0x13B5, "Arm"},       {0x42, 0x14E4, "Broadcom"},
                                         {0x43, 0x177D, "Cavium"},    {0x46, 0x10CF, "Fujitsu"},
                                         {0x48, 0x19E5, "HiSilicon"}, {0x4E, 0x10DE, "NVIDIA"},
                                         {0x50, 0x1DEF, "Ampere"},    {0x51, 0x5143, "Qualcomm"},
                                         {0x53, 0x144D, "Samsung"},   {0x56, 0x11AB, "Marvell"},
                                         {0x61, 0x106B, "Apple"},     {0x6D, 0x1414, "Microsoft"},
                                         {0xC0, 0x1DEF, "Ampere"},    {0, 0, NULL}};

// Arm's own cores, by the part number.
static const struct arm_name cores[] = {{0xD03, 0, "Cortex-A53"},
                                        {0xD04, 0, "Cortex-A35"},
                                        {0xD05, 0, "Cortex-A55"},
                                        {0xD07, 0, "Cortex-A57"},
                                        {0xD08, 0, "Cortex-A72"},
                                        {0xD09, 0, "Cortex-A73"},
                                        {0xD0A, 0, "Cortex-A75"},
                                        {0xD0B, 0, "Cortex-A76"},
                                        {0xD0C, 0, "Neoverse N1"},
                                        {0xD0D, 0, "Cortex-A77"},
                                        {0xD40, 0, "Neoverse V1"},
                                        {0xD41, 0, "Cortex-A78"},
                                        {0xD44, 0, "Cortex-X1"},
                                        {0xD46, 0, "Cortex-A510"},
                                        {0xD47, 0, "Cortex-A710"},
                                        {0xD48, 0, "Cortex-X2"},
                                        {0xD49, 0, "Neoverse N2"},
                                        {0xD4A, 0, "Neoverse E1"},
                                        {0xD4D, 0, "Cortex-A715"},
                                        {0xD4E, 0, "Cortex-X3"},
                                        {0xD4F, 0, "Neoverse V2"},
                                        {0xD80, 0, "Cortex-A520"},
                                        {0xD81, 0, "Cortex-A720"},
                                        {0xD82, 0, "Cortex-X4"},
                                        {0, 0, NULL}};

static const struct arm_name *find_name(const struct arm_name *list, uint32_t id)
{
    while (list->name && list->id != id)
        list++;
    return list;
}

// 0: the kernel does not let programs read it.
static uint32_t read_midr(void)
{
    uint64_t midr = 0;
#if defined(__linux__)
    enum {
        CPUID = 1 << 11 // HWCAP_CPUID: registers of identity can be read
    };
    if (getauxval(AT_HWCAP) & CPUID)
        __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
#endif
    return (uint32_t)midr;
}

static void identify_processor(WNNDeviceInfo *info)
{
    uint32_t midr = read_midr(), part = midr >> 4 & 0xFFF;
    const struct arm_name *maker = find_name(makers, midr >> 24), *core = find_name(cores, part);
    struct text vendor = TEXT(info->vendorName), name = TEXT(info->name), sets = TEXT(info->instructionSets);
    info->deviceId = midr;
    info->vendorId = maker->pci;
    wnn_text_add(&vendor, "%s", maker->name ? maker->name : "");
    if (midr >> 24 == 0x41 && core->name)
        wnn_text_add(&name, "Arm %s", core->name);
    else if (midr != 0)
        wnn_text_add(&name, "%s core 0x%03X", maker->name ? maker->name : "AArch64", part);
    wnn_text_add(&sets, "NEON");
}

#else

static void identify_processor(WNNDeviceInfo *info)
{
    (void)info;
}

#endif

void wnn_cpu_identify(void *state, WNNDeviceInfo *info)
{
    (void)state;
    info->deviceType = WNNDeviceType_CPU;
    info->kind = WNNDeviceKind_Processor;
    info->index = WNN_DEVICE_INDEX_UNKNOWN;
    info->isUsable = true;
    info->driverVersion = WNN_VERSION_MAJOR << 22 | WNN_VERSION_MINOR << 12 | WNN_VERSION_PATCH;
    struct text version = TEXT(info->driverVersionText), name = TEXT(info->driverName),
                kernels = TEXT(info->driverInfo);
    wnn_text_add(&version, "%d.%d.%d", WNN_VERSION_MAJOR, WNN_VERSION_MINOR, WNN_VERSION_PATCH);
    wnn_text_add(&name, "webnn");
    wnn_text_add(&kernels, "%s", wnn_xnnpack_edition());
    identify_processor(info);
    if (!info->name[0]) {
        struct text unknown = TEXT(info->name);
        wnn_text_add(&unknown, "processor");
    }
}
