// SPDX-License-Identifier: Apache-2.0
//
// Built graphs as bytes: what has been compiled once is loaded in milliseconds, in another process, by another program or
// at the next start. The bytes hold the optimized graph, its weights in the form that kernels read, and what a GPU has
// compiled. Who loads them lends memory, of a mapped file for instance, in which the weights of a CPU stay: nothing is
// copied, and processes that map one file share its pages. A GPU gets a copy.
//
// Nothing in the bytes is trusted. The graph is checked as calls are, kernels are chosen and memory is planned anew, and
// weights are numbers: whatever a stranger writes there, the result is an error or a graph that computes something else.
// Code for a GPU is not looked at, but compiled again, or taken from the cache of the context (WNNCache). A host that knows
// who wrote the bytes authenticates them before they are read: then code is run as it is, and nothing is compiled.
//
// Only the same library, built of the same sources, for the same backend and target loads them: a sort of CPU, or a GPU with
// its driver and its limits. Another one says what differs (NotSupportedError), and the host builds the graph anew; or the
// bytes hold what was recorded too (WNNRecompilable), and the graph is built of that. The same graph and target give the same
// bytes, on a GPU as far as its driver compiles the same to the same. Backends that can do it: the CPU, and Vulkan.
//
// A target is text: of a CPU its architecture, the instructions that kernels are chosen by, and what it shares the work with
// ("x86-64, AVX-512 AVX-512-VNNI, XNNPACK of 2022 or so"; a CPU with AMX is of that sort, which may be called "AVX-512
// AVX-512-VNNI AMX-INT8" too). The number of threads is no part of it. wnnContextGetTarget tells it, and a context can be made
// for a target that is not there (WNNContextTarget): what it compiles has the bytes that the target itself would have written.
//
// Of a graph with sizes that are not known while it is recorded, the bytes hold what was recorded and the constants, which
// stay there, or their names (WNNWeightless), and the code of a GPU for the sizes that it has been compiled for so far. What is
// compiled for sizes is compiled when they come, as ever.
//
// The format, version 4
//
// Numbers are little-endian: u8, u16, u32, u64, and f64 of IEEE 754. Bytes that are said to be zero are refused if they are
// not. A list of n items is u32 n and the items. Besides,
//
//   text      u32 number of bytes; the bytes, UTF-8 without NUL at the end; zeros up to the next multiple of 4
//   type      u8 data type (WNNDataType); u8 rank; u16 0; rank times u32 dimension
//   operand   u32: inputs have the first numbers, constants the next, then the results of nodes, each in their order.
//             2^32-1: it is absent
//   blob      u32: which. 2^32-1: none
//
// A compiled graph is a head, data and perhaps a recorded graph, and ends there:
//
//   byte  0   8 bytes  57 4E 4E 42 55 49 4C 54, "WNNBUILT"
//         8   u32      version, 4
//        12   u32      flags. 1: the graph is of a context with strictNumerics; 2: it has sizes that are not known, so that
//                      all numbers below but those of pieces of code and of blobs are 0
//        16   u64      bytes in all
//        24   u64      bytes of the head, a multiple of 64
//        32   u64      0
//        40   u64      checksum of the data, below
//        48   u64      where the recorded graph begins, which is where data end, a multiple of 64; 0: there is none, and data
//                      end with the bytes
//        56   u64      0
//        64            SHA-256 of the head, where these 32 bytes are zero
//        96   text     the library: its version, and a digest of its sources
//             text     the backend
//             text     the target, in the backend's words
//             u32      number of inputs
//             u32      number of constants
//             u32      number of nodes
//             u32      number of outputs
//             u32      number of pieces of code
//             u32      number of blobs
//             of each blob     u64 bytes
//             of each input    type; text name
//             of each constant constant
//             nodes, in an order in which they can be computed
//             of each output   text name; operand
//             of each piece of code   32 bytes, its key; blob: as WNNCache has them
//             zeros up to a multiple of 64
//
//   constant    type; u32 bits: 1, its bytes lie in an order of the backend's, not as the type says; 2, where they are to be
//               had from comes instead of them. Then blob, of as many bytes, or none, if only kernels that have packed it
//               need it; or origin
//   origin      u32 WNNConstantForm. FileRange: u64 file; u64 offset. Id: text id of 1 to WNN_MAX_CONSTANT_ID bytes, any. 4:
//               what a node makes: u32 which result; list of constant, up to 8 within each other; node, whose operands are
//               these, and which has no packed weights
//   node        text name of the operator, also of those that only the compiler makes; text label; list of operand;
//               attributes; of `elementwise` list of step; list of expression; blob, the packed weights
//   attributes  the values of the operator, in the order of wnnGetAttributeInfo, each once that has several names. Uint32,
//               Int32, Bool, DataType and Enumerator u32; Float64 f64, 1e300 or -1e300 where the data type of the operands
//               has no number as large; Number u32 WNNNumberType and 8 bytes; lists as lists, 2^32-1 in the place of n if
//               they are absent; ActivationList list of text name and attributes; Activation nothing
//   expression  what is fused: u32 input, 2^32-1 for the output, which is the last; u32 in which turn it was; type of what
//               it is of; list of operand; list of step
//   step        text name; list of u32 value; u32 output, 2^32-1 for none; type; attributes
//
// A recorded graph is what all later versions read as well, of whatever else they know nothing more than bytes 0 to 11, 16 to
// 23 and 48 to 55. From its beginning:
//
//   byte  0   u32      its version: 1, or 2 if there are constants that begin at 0
//         4   u32      number of constants
//         8   u64      bytes of the serialized graph
//        16            16 bytes 0
//        32            SHA-256 of the recorded graph, where these 32 bytes are zero
//        64   of each constant   u64 where it begins, from the first byte of all, a multiple of 64; u64 bytes; u64 checksum of
//                                it and the zeros up to a multiple of 64. It is a blob, or a part of the data that is
//                                followed by zeros as one. Where it begins is 0, and so is the checksum, if its bytes
//                                are not here
//             the serialized graph, in the format of webnn/serialize.h, where constants have ids of 4 bytes: u32 which
//             of each constant that begins at 0   origin, of FileRange or Id
//             zeros up to a multiple of 64
//
// Data are the blobs, each followed by 64 bytes or more of zeros, up to a multiple of 64 from the beginning.
//
// The checksum takes data as lines of 8 words of 64 bits, each of which goes to a lane of its own. A lane begins as 1 to 8;
// mix(lane, word) is p ^ p >> 32 where p = (lane ^ word) * 0x9E3779B97F4A7C15, and the next value of the lane. Of each MiB
// from the beginning of the data, and of what is left behind the last, the number of lines and the lanes, in this order,
// are words of one more lane that begins as 0: its sum. The sums are words of a lane that begins as 0: that is it.

#ifndef WEBNN_COMPILED_H_
#define WEBNN_COMPILED_H_

#include <webnn/serialize.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------------
// Targets
// ---------------------------------------------------------------------------------------------------------------

// Chained to WNNContextDescriptor: the context compiles for a target as it is described, whether there is one here or not.
// It builds, saves and loads graphs, and computes nothing: it has no tensors, and refuses to compute and to dispatch
// (NotSupportedError). Each thread of this machine helps to pack weights; whatever its processor is, the bytes are the same.
// TypeError: no text, or a device is chosen too. NotSupportedError: the backend or this library does not compile for it;
// another architecture of CPUs is never one that it does, since what is computed of constants is rounded in another way
// there. Backends that can do it: the CPU, and Vulkan, for which no driver is opened: shaders are compiled as far as SPIR-V,
// and the driver of the device does the rest where it loads them; nodes that are constant are computed there too.
typedef struct WNNContextTarget {
    WNNChainedStruct chain; // sType: WNNSType_ContextTarget
    WNNStringView target;   // as wnnContextGetTarget and wnnGetCompiledGraphInfo tell it
} WNNContextTarget;
#define WNN_CONTEXT_TARGET_INIT { { NULL, WNNSType_ContextTarget }, WNN_STRING_VIEW_INIT }

// What the graphs of a context are compiled for: the words that a file has in its head. Text lives as long as the context.
typedef struct WNNTargetInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView library, backend, target;
    bool isDescribed; // by a WNNContextTarget
} WNNTargetInfo;
#define WNN_TARGET_INFO_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, false }

// TypeError: no context, no place for the answer, a chained struct; NotSupportedError: its graphs cannot be saved. Any
// thread.
WNN_EXPORT WNNStatus wnnContextGetTarget(WNNContext context, WNNTargetInfo *info);

// ---------------------------------------------------------------------------------------------------------------
// Saving
// ---------------------------------------------------------------------------------------------------------------

// Chained to WNNBuildCallbackInfo: the graph can be saved. It may hold more memory for that: constants that a kernel has
// packed in a way that only it can read, as XNNPACK does, or that are on a GPU, and what that has compiled. What is written
// of a graph with sizes that are not known is always what was recorded, as if it were WNNRecompilable.
typedef struct WNNSavable {
    WNNChainedStruct chain; // sType: WNNSType_Savable
} WNNSavable;
#define WNN_SAVABLE_INIT { { NULL, WNNSType_Savable } }

// Chained to WNNBuildCallbackInfo: the graph can be saved, and what is written holds what was recorded too, from which
// another version of the library, or one for another target, can build it. Costs the time of wnnGraphBuilderSerialize when
// the graph is built; memory, since constants stay as they were recorded until the graph is released, also where its
// kernels have packed them; and the same in what is written.
//
// Chained to WNNLoadGraphDescriptor: where wnnContextLoadGraph would say NotSupportedError, since another version of the
// library, backend, target or kind of numbers is that of the context, it builds the graph of what was recorded instead, if
// that is there.
typedef struct WNNRecompilable {
    WNNChainedStruct chain; // sType: WNNSType_Recompilable
} WNNRecompilable;
#define WNN_RECOMPILABLE_INIT { { NULL, WNNSType_Recompilable } }

// Chained to WNNBuildCallbackInfo: the graph can be saved without the bytes of those constants that have a name
// (WNNNamedBytes, wnnGraphBuilderPromisedConstant), and holds no more for that than it would anyway. Chained to
// WNNSaveGraphDescriptor: it is saved so, of names and of how weights are packed of what they stand for; of what the compiler
// has made of such constants, by operators, there is how it made it. What was recorded, of a graph with sizes that are not known
// or as WNNRecompilable, is saved with the names in the place of such constants. All else is saved as ever.
typedef struct WNNWeightless {
    WNNChainedStruct chain; // sType: WNNSType_Weightless
} WNNWeightless;
#define WNN_WEIGHTLESS_INIT { { NULL, WNNSType_Weightless } }

typedef struct WNNSaveGraphDescriptor {
    const WNNChainedStruct *nextInChain;
    WNNWriteCallback write; // runs on the worker of the context, does not use it, and is done before the request is
    void *userdata1, *userdata2;
} WNNSaveGraphDescriptor;
#define WNN_SAVE_GRAPH_DESCRIPTOR_INIT { NULL, NULL, NULL, NULL }

// Writes the graph, in its turn among the executions of its context. InvalidStateError: the graph was not built as
// WNNSavable or loaded, or it was destroyed; it can only be saved as WNNWeightless, since it was built or loaded so or its
// bytes are still promised; NotSupportedError: its backend cannot save, or what was recorded (WNNRecompilable) has constants
// whose bytes are not there, and it is not to be saved as WNNWeightless; TypeError: no descriptor or no `write`; what `write`
// returned; OutOfMemory. Any thread.
WNN_EXPORT WNNFuture wnnGraphSave(WNNGraph graph, const WNNSaveGraphDescriptor *descriptor,
                                  WNNRequestCallbackInfo callbackInfo);

// The same, and waits. `message` as in wnnGraphBuilderBuildSync. Any thread, but not from a callback of the context
// (InvalidStateError).
WNN_EXPORT WNNStatus wnnGraphSaveSync(WNNGraph graph, const WNNSaveGraphDescriptor *descriptor, size_t capacity,
                                      char *message);

// ---------------------------------------------------------------------------------------------------------------
// Loading
// ---------------------------------------------------------------------------------------------------------------

// Says whether the bytes may be read at all; what is not Success is the result of loading them. Success vouches for all of
// them: wnnGraphSave wrote them, which a signature says, or that nobody else can write where they are kept; code in them is
// run on the GPU. Runs on a thread of the context, before anything of them is believed.
typedef WNNStatus (*WNNAuthenticateCallback)(const void *data, size_t byteLength, void *userdata1, void *userdata2);

typedef struct WNNLoadGraphDescriptor {
    const WNNChainedStruct *nextInChain;
    // At a multiple of 64, as mapped files are. They are lent: they must not change until bytes.release is called, once,
    // from any thread, when the graph needs them no more (inside of the call if it fails). Who cannot be sure of that, since
    // a stranger can write to the file, copies it; changes are never worse than other numbers, though, as long as
    // nothing is authenticated.
    WNNExternalBytes bytes;
    WNNAuthenticateCallback authenticate; // NULL: nobody is asked
    void *userdata1, *userdata2;          // of that
    bool skipDataCheck; // do not read all weights only to find out whether they are damaged; the head always is checked
} WNNLoadGraphDescriptor;
#define WNN_LOAD_GRAPH_DESCRIPTOR_INIT { NULL, WNN_EXTERNAL_BYTES_INIT, NULL, NULL, NULL, false }

// Finds the bytes of a constant by its name: fills in `bytes`, which come as WNN_EXTERNAL_BYTES_INIT and have to be
// `byteLength`. They are lent as those of an external constant (WNNExternalBytes): until `release` is called, soon if a kernel
// packs them or a GPU has a copy, and at the latest when the graph goes away, if kernels read them as they are, or it has
// sizes that are not known; or when all graphs go away that share them (WNNSharedWeights). On a GPU that is before the next
// one is asked for, but for scales, zero points and biases of quantized operators, and those that one constant is made of. So a
// file may be mapped, or be read one constant at a time. What is not Success is the result of the build or of the load. It may
// be asked for the same constant more than once. Runs on the thread that builds, one call at a time for a context, and must not
// call the library. The reference lives until it returns, and is the word of who wrote the graph: check that it is a range that
// he may have.
typedef WNNStatus (*WNNFindBytesCallback)(const WNNConstantReference *reference, uint64_t byteLength,
                                          WNNExternalBytes *bytes, void *userdata1, void *userdata2);

// Chained to WNNLoadGraphDescriptor or WNNBuildCallbackInfo: who has the bytes of constants that are promised. Without it a
// build of such a graph, which must be Savable or Weightless, makes one that can be saved, but not run (InvalidStateError);
// a load that needs bytes fails (InvalidStateError). It is called until that build or load is answered. TypeError: no callback.
typedef struct WNNConstantSource {
    WNNChainedStruct chain; // sType: WNNSType_ConstantSource
    WNNFindBytesCallback find;
    void *userdata1, *userdata2;
} WNNConstantSource;
#define WNN_CONSTANT_SOURCE_INIT { { NULL, WNNSType_ConstantSource }, NULL, NULL, NULL }

// Makes a graph of what wnnGraphSave wrote, on the thread that builds. The limits of the context hold as for a build.
// NotSupportedError: another library, backend or target wrote it, or the backend cannot load, and there is no WNNRecompilable
// or nothing that was recorded; TypeError: no descriptor, bytes that are not aligned, are damaged, or describe no graph, or
// constants of a WNNConstantSource that have another length than they are to have; InvalidStateError: the context is lost, or
// nobody has the bytes of a constant; OutOfMemory. A chained
// WNNTimeLimit holds. Any thread.
WNN_EXPORT WNNFuture wnnContextLoadGraph(WNNContext context, const WNNLoadGraphDescriptor *descriptor,
                                         WNNBuildCallbackInfo callbackInfo);

// The same, and waits: as wnnGraphBuilderBuildSync.
WNN_EXPORT WNNStatus wnnContextLoadGraphSync(WNNContext context, const WNNLoadGraphDescriptor *descriptor,
                                             WNNGraph *graph, size_t capacity, char *message);

// Whether the graph was loaded from bytes for another library or target, and built of what was recorded (WNNRecompilable):
// what wnnGraphSave writes of it now is loaded faster the next time. Any thread.
WNN_EXPORT bool wnnGraphIsRecompiled(WNNGraph graph);

// What the head says of itself, without a context. Text lies in the bytes.
// What is neither head nor data is a recorded graph.
typedef struct WNNCompiledGraphInfo {
    WNNChainedStruct *nextInChain;
    WNNStringView library, backend, target;
    bool strictNumerics;
    uint64_t headBytes, dataBytes;
} WNNCompiledGraphInfo;
#define WNN_COMPILED_GRAPH_INFO_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, WNN_STRING_VIEW_INIT, false, 0, 0 }

// TypeError: the bytes, of any alignment, are no compiled graph, or their head is damaged; also no place for the answer.
// NotSupportedError: of another version of the format. Any thread.
WNN_EXPORT WNNStatus wnnGetCompiledGraphInfo(const void *data, size_t byteLength, WNNCompiledGraphInfo *info);

#ifdef __cplusplus
}
#endif

#endif
