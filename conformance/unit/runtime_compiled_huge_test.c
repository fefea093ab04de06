// SPDX-License-Identifier: Apache-2.0
//
// A compiled graph of more than 5 GiB, in a file with holes, and one whose weights lie behind the fifth GiB
// of such a file: no offset or size of them has 32 bits.

#include "conformance/compiled.h"
#include "conformance/unit/runtime_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CONSTANTS = 3,
    BLOCK = 65536
};
#define BYTES ((size_t)1900 << 20) // of each constant

static const uint32_t places[] = {0, (uint32_t)(BYTES - 1), (uint32_t)(BYTES / 2)};

// Zeros that take no memory until they are written to.
static unsigned char *create_zeros(void)
{
    void *memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

static WNNOperandDescriptor describe_bytes(void)
{
    static const uint32_t dims[] = {(uint32_t)BYTES};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Uint8;
    descriptor.shape = (WNNUint32List){dims, 1};
    return descriptor;
}

static WNNOperand gather(WNNGraphBuilder builder, WNNOperand bytes, unsigned number)
{
    const uint32_t three[] = {3};
    WNNOperandDescriptor indices = WNN_OPERAND_DESCRIPTOR_INIT;
    char name[] = "i0";
    name[1] = (char)('0' + number);
    indices.dataType = WNNDataType_Uint32;
    indices.shape = (WNNUint32List){three, 1};
    return wnnGraphBuilderGather(builder, bytes, wnnGraphBuilderInput(builder, view(name), &indices), NULL);
}

static WNNOperand gather_lent(WNNGraphBuilder builder, unsigned char *memory, unsigned number)
{
    WNNOperandDescriptor descriptor = describe_bytes();
    WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
    loan.data = memory;
    loan.byteLength = BYTES;
    for (unsigned i = 0; i < 3; i++)
        memory[places[i]] = (unsigned char)(100 + 10 * number + i);
    return gather(builder, wnnGraphBuilderExternalConstant(builder, &descriptor, &loan), number);
}

struct file {
    int descriptor;
    uint64_t size, rest;
};

// Zeros become holes.
static WNNStatus write_sparse(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    static const unsigned char zeros[BLOCK];
    struct file *file = userdata1;
    const unsigned char *bytes = data;
    (void)userdata2;
    if (file->size && file->rest != size + rest)
        return WNNStatus_UnknownError;
    for (size_t at = 0; at < size; at += BLOCK) {
        size_t length = size - at < BLOCK ? size - at : BLOCK;
        if (memcmp(bytes + at, zeros, length) != 0 &&
            pwrite(file->descriptor, bytes + at, length, (off_t)(file->size + at)) != (ssize_t)length)
            return WNNStatus_OperationError;
    }
    file->size += size;
    file->rest = rest;
    return WNNStatus_Success;
}

static void unmap(const void *data, size_t size, void *userdata1, void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    munmap((void *)(uintptr_t)data, size);
}

static void save(WNNContext context, struct file *file)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand outputs[CONSTANTS];
    static const char *const names[] = {"y0", "y1", "y2"};
    unsigned char *memory[CONSTANTS];
    char message[1024] = "";
    WNNGraph graph;
    for (unsigned i = 0; i < CONSTANTS; i++) {
        memory[i] = create_zeros();
        outputs[i] = (WNNNamedOperand){view(names[i]), gather_lent(builder, memory[i], i)};
    }
    wnn_build_savable(context, builder, CONSTANTS, outputs, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    WNNSaveGraphDescriptor descriptor = {NULL, write_sparse, file, NULL};
    REQUIRE_EQUAL_INT(wnnGraphSaveSync(graph, &descriptor, sizeof message, message), WNNStatus_Success);
    REQUIRE(ftruncate(file->descriptor, (off_t)file->size) == 0);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context); // until then the constants may be needed
    for (unsigned i = 0; i < CONSTANTS; i++)
        munmap(memory[i], BYTES);
}

static WNNContext create_context(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    return context;
}

static void require_results(WNNContext context, WNNGraph graph)
{
    unsigned char results[CONSTANTS][3] = {{0}};
    WNNNamedBuffer inputs[CONSTANTS], outputs[CONSTANTS];
    static const char *const names[] = {"i0", "y0", "i1", "y1", "i2", "y2"};
    for (unsigned i = 0; i < CONSTANTS; i++) {
        inputs[i] = (WNNNamedBuffer){view(names[2 * i]), (void *)(uintptr_t)places, sizeof places,
                                     WNNDataType_Uint32};
        outputs[i] = (WNNNamedBuffer){view(names[2 * i + 1]), results[i], 3, WNNDataType_Uint8};
    }
    compute_buffers(context, graph, CONSTANTS, inputs, CONSTANTS, outputs);
    for (unsigned i = 0; i < CONSTANTS; i++)
        for (unsigned j = 0; j < 3; j++)
            REQUIRE_EQUAL_INT(results[i][j], 100 + 10 * i + j);
}

static void test_huge(void)
{
    char path[] = "/tmp/webnn-huge-XXXXXX", message[1024] = "";
    struct file file = {mkstemp(path), 0, 0};
    REQUIRE(file.descriptor >= 0 && unlink(path) == 0);
    save(create_context(), &file);
    REQUIRE(file.size > CONSTANTS * (uint64_t)BYTES && file.rest == 0);

    WNNContext context = create_context();
    uint64_t before = counters_of(context).allocatedBytes;
    WNNLoadGraphDescriptor descriptor = WNN_LOAD_GRAPH_DESCRIPTOR_INIT;
    descriptor.bytes.data = mmap(NULL, file.size, PROT_READ, MAP_SHARED, file.descriptor, 0);
    REQUIRE(descriptor.bytes.data != MAP_FAILED);
    descriptor.bytes.byteLength = file.size;
    descriptor.bytes.release = unmap;
    descriptor.skipDataCheck = true;
    WNNGraph graph;
    wnnContextLoadGraphSync(context, &descriptor, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE(counters_of(context).allocatedBytes - before < 1u << 20);
    require_results(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    close(file.descriptor);
}

#define FIRST_BYTE (UINT64_C(5) << 30) // of the weights in their file

static WNNStatus map_range(const WNNConstantReference *reference, uint64_t size, WNNExternalBytes *bytes,
                           void *userdata1, void *userdata2)
{
    const int *descriptor = userdata1;
    (void)userdata2;
    if (reference->form != WNNConstantForm_FileRange || reference->file != UINT64_MAX || size != BYTES)
        return WNNStatus_OperationError;
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, *descriptor, (off_t)reference->offset);
    if (memory == MAP_FAILED)
        return WNNStatus_OperationError;
    *bytes = (WNNExternalBytes){NULL, memory, size, unmap, NULL, NULL};
    return WNNStatus_Success;
}

// Recorded and compiled while nobody has the bytes.
static struct serialized compile_without(WNNContext context)
{
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand outputs[CONSTANTS];
    static const char *const names[] = {"y0", "y1", "y2"};
    const WNNWeightless weightless = WNN_WEIGHTLESS_INIT;
    WNNOperandDescriptor descriptor = describe_bytes();
    WNNConstantReference reference = {NULL, WNNConstantForm_FileRange, UINT64_MAX, 0, NULL, 0};
    for (unsigned i = 0; i < CONSTANTS; i++) {
        reference.offset = FIRST_BYTE + i * (uint64_t)BYTES;
        outputs[i] = (WNNNamedOperand){
            view(names[i]),
            gather(builder, wnnGraphBuilderPromisedConstant(builder, &descriptor, &reference), i)};
    }
    struct answer answer = {.calls = 0};
    const WNNBuildCallbackInfo info = {&weightless.chain, WNNCallbackMode_WaitAnyOnly, on_build, &answer,
                                       NULL};
    wait_for(context, wnnGraphBuilderBuild(builder, CONSTANTS, outputs, info));
    REQUIRE_EQUAL_STR(answer.message, "");
    struct serialized bytes = {0};
    WNNSaveGraphDescriptor save = {&weightless.chain, wnn_serialized_add, &bytes, NULL};
    REQUIRE_EQUAL_INT(wnnGraphSaveSync(answer.graph, &save, 0, NULL), WNNStatus_Success);
    wnnGraphRelease(answer.graph);
    wnnGraphBuilderRelease(builder);
    return bytes;
}

static void test_weights_elsewhere(void)
{
    char path[] = "/tmp/webnn-huge-XXXXXX", message[1024] = "";
    int file = mkstemp(path);
    REQUIRE(file >= 0 && unlink(path) == 0);
    REQUIRE(ftruncate(file, (off_t)(FIRST_BYTE + CONSTANTS * (uint64_t)BYTES)) == 0);
    for (unsigned i = 0; i < CONSTANTS; i++)
        for (unsigned j = 0; j < 3; j++) {
            unsigned char byte = (unsigned char)(100 + 10 * i + j);
            REQUIRE(pwrite(file, &byte, 1, (off_t)(FIRST_BYTE + i * (uint64_t)BYTES + places[j])) == 1);
        }
    WNNContext context = create_context();
    struct serialized bytes = compile_without(context);
    REQUIRE(bytes.size < 65536);
    uint64_t before = counters_of(context).allocatedBytes;
    const WNNConstantSource source = {{NULL, WNNSType_ConstantSource}, map_range, &file, NULL};
    WNNGraph graph;
    wnn_load_chained(context, &source.chain, bytes.data, bytes.size, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE(counters_of(context).allocatedBytes - before < 1u << 20);
    require_results(context, graph);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    free(bytes.data);
    close(file);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (sizeof(size_t) < 8)
        return cases_skip("there are no 5 GiB of addresses");
    if (SANITIZED)
        return cases_skip("sanitizers keep notes of their own about gigabytes");
    CASE(test_huge());
    CASE(test_weights_elsewhere());
    return cases_end();
}
