// SPDX-License-Identifier: Apache-2.0
//
// A compiled graph of more than 5 GiB, in a file with holes: no offset or size of it has 32 bits.

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

static WNNOperand gather(WNNGraphBuilder builder, unsigned char *memory, unsigned number)
{
    const uint32_t dims[] = {(uint32_t)BYTES}, three[] = {3};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT, indices = WNN_OPERAND_DESCRIPTOR_INIT;
    WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
    char name[] = "i0";
    name[1] = (char)('0' + number);
    descriptor.dataType = WNNDataType_Uint8;
    descriptor.shape = (WNNUint32List){dims, 1};
    indices.dataType = WNNDataType_Uint32;
    indices.shape = (WNNUint32List){three, 1};
    loan.data = memory;
    loan.byteLength = BYTES;
    for (unsigned i = 0; i < 3; i++)
        memory[places[i]] = (unsigned char)(100 + 10 * number + i);
    return wnnGraphBuilderGather(builder, wnnGraphBuilderExternalConstant(builder, &descriptor, &loan),
                                 wnnGraphBuilderInput(builder, view(name), &indices), NULL);
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
        outputs[i] = (WNNNamedOperand){view(names[i]), gather(builder, memory[i], i)};
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
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    close(file.descriptor);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    if (sizeof(size_t) < 8)
        return cases_skip("there are no 5 GiB of addresses");
    CASE(test_huge());
    return cases_end();
}
