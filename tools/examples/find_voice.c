// SPDX-License-Identifier: Apache-2.0
//
// Finds where somebody speaks: find_voice [--gpu] MODEL SOUND
//
// MODEL is a Silero voice activity detector in ONNX, as the npm package @ricky0123/vad-web has it, SOUND a
// WAV file of 16-bit samples, one channel, 16 or 8 kHz. Prints a line for each piece of speech: where it
// begins and ends, in seconds.
//
// The network hears a window of 32 ms at a time and says how likely it is speech. What it remembers of the
// windows before is an output that the next window gets as an input: here a tensor that stays on the device.

#include "tools/examples/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TENSORS = 3,      // the samples, or the likelihood, and two states
    MAX_WINDOW = 512 + 64 // samples
};

// ---------------------------------------------------------------------------------------------------------------
// The sound
// ---------------------------------------------------------------------------------------------------------------

struct sound {
    const char *path;
    FILE *file;
    uint32_t rate, bytes; // samples a second; bytes that are left
};

static uint32_t get_number(const unsigned char *bytes, int count)
{
    uint32_t number = 0;
    while (count-- > 0)
        number = number << 8 | bytes[count];
    return number;
}

// What a chunk says of the samples. False: it is not what can be read.
static bool read_format(struct sound *sound, uint32_t size)
{
    unsigned char format[16];
    if (size < sizeof format || fread(format, sizeof format, 1, sound->file) != 1)
        return false;
    sound->rate = get_number(format + 4, 4);
    return get_number(format, 2) == 1 && get_number(format + 2, 2) == 1 && get_number(format + 14, 2) == 16 &&
           (sound->rate == 16000 || sound->rate == 8000) &&
           fseek(sound->file, size - sizeof format + (size & 1), SEEK_CUR) == 0;
}

// Goes to the samples, past other chunks: each has a name of four letters, a size, and so many bytes.
static bool open_sound(const char *path, struct sound *sound)
{
    unsigned char head[12];
    *sound = (struct sound){path, fopen(path, "rb"), 0, 0};
    if (!sound->file) {
        complain("%s: %s", path, strerror(errno));
        return false;
    }
    bool good = fread(head, 12, 1, sound->file) == 1 && memcmp(head, "RIFF", 4) == 0 &&
                memcmp(head + 8, "WAVE", 4) == 0;
    while (good && fread(head, 8, 1, sound->file) == 1) {
        uint32_t size = get_number(head + 4, 4);
        if (memcmp(head, "data", 4) == 0 && sound->rate) {
            sound->bytes = size;
            return true;
        }
        good = memcmp(head, "fmt ", 4) == 0 ? read_format(sound, size)
                                            : fseek(sound->file, (long)size + (size & 1), SEEK_CUR) == 0;
    }
    complain("%s: expected a WAV file of 16-bit samples, one channel, 16 or 8 kHz", path);
    return false;
}

// The next samples, from -1 to 1, with zeros after the last. False: there are no more.
static bool read_samples(struct sound *sound, float *samples, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        unsigned char bytes[2];
        bool more = sound->bytes >= 2 && fread(bytes, 2, 1, sound->file) == 1;
        if (!more && i == 0)
            return false;
        samples[i] = more ? (float)(int16_t)get_number(bytes, 2) / 32768 : 0;
        sound->bytes = more ? sound->bytes - 2 : 0;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The network
// ---------------------------------------------------------------------------------------------------------------

// Inputs: the samples, states, and somewhere the rate, which becomes a constant. Outputs: how likely it is
// speech, and the states after the window, in the order of the inputs.
struct detector {
    struct network network;
    uint32_t window, overlap; // samples of a window, and of the one before it, which come first
    int64_t rate;
    size_t count; // of tensors on either side
    WNNNamedTensor in[MAX_TENSORS], out[MAX_TENSORS];
};

// Builds the network for sounds of a rate: the branches of the model that are for another one are left out.
static bool build_detector(struct detector *detector, uint32_t rate)
{
    size_t count;
    const WNNModelValue *inputs = wnnModelGetInputs(detector->network.model, &count);
    WNNModelInputValue values[MAX_TENSORS + 1];
    uint32_t shapes[MAX_TENSORS + 1][3];
    detector->rate = rate;
    detector->window = rate / 125 * 4;
    detector->overlap = count == 3 ? detector->window / 8 : 0; // older networks, with two states, have none
    bool good = count >= 3 && count <= MAX_TENSORS + 1;
    for (size_t i = 0; good && i < count; i++) {
        good = inputs[i].hasShape && inputs[i].rank <= 3;
        values[i] = (WNNModelInputValue)WNN_MODEL_INPUT_VALUE_INIT;
        values[i].name = inputs[i].name;
        if (good && inputs[i].rank == 0) {
            values[i].data = &detector->rate;
            values[i].byteLength = sizeof detector->rate;
            continue;
        }
        for (size_t j = 0; good && j < inputs[i].rank; j++)
            shapes[i][j] = inputs[i].dimensions[j].size ? (uint32_t)inputs[i].dimensions[j].size : 1;
        if (i == 0)
            shapes[i][1] = detector->overlap + detector->window;
        values[i].shape = (WNNUint32List){shapes[i], inputs[i].rank};
    }
    if (!good)
        complain("%s: expected inputs for samples, their rate, and one or two states",
                 detector->network.path);
    return good && network_build(&detector->network, count, values);
}

// A tensor for each input or output of the graph; all are zeros.
static bool make_tensors(WNNContext context, const WNNNamedDescriptor *values, size_t count,
                         WNNNamedTensor *tensors)
{
    for (size_t i = 0; i < count; i++) {
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        descriptor.dataType = values[i].descriptor.dataType;
        descriptor.shape = values[i].descriptor.shape;
        descriptor.readable = descriptor.writable = true;
        tensors[i].name = values[i].name;
        if (wnnContextCreateTensor(context, &descriptor, &tensors[i].tensor) != WNNStatus_Success)
            return false;
    }
    return true;
}

static bool open_detector(struct detector *detector, uint32_t rate)
{
    if (!build_detector(detector, rate))
        return false;
    size_t inputs, outputs;
    const WNNNamedDescriptor *in = wnnGraphGetInputs(detector->network.graph, &inputs),
                             *out = wnnGraphGetOutputs(detector->network.graph, &outputs);
    if (inputs != outputs || inputs > MAX_TENSORS) {
        complain("%s: expected as many outputs as there are states, and one more", detector->network.path);
        return false;
    }
    detector->count = inputs;
    return make_tensors(detector->network.context, in, inputs, detector->in) &&
           make_tensors(detector->network.context, out, outputs, detector->out);
}

static void close_detector(struct detector *detector)
{
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        wnnTensorRelease(detector->in[i].tensor);
        wnnTensorRelease(detector->out[i].tensor);
    }
    network_close(&detector->network);
}

static void end_dispatch(WNNStatus status, WNNStringView message, void *userdata1, void *userdata2)
{
    (void)userdata2;
    *(WNNStatus *)userdata1 = status;
    if (status != WNNStatus_Success)
        complain("%.*s", (int)message.length, message.data);
}

// How likely a window is speech. Its samples come after the overlap.
static bool hear(struct detector *detector, const float *samples, float *likely)
{
    WNNContext context = detector->network.context;
    size_t bytes = (detector->overlap + detector->window) * sizeof(float);
    if (wnnContextWriteTensor(context, detector->in[0].tensor, samples, bytes) != WNNStatus_Success)
        return false;

    // Dispatch: the request is queued, and what it writes can be used by those after it.
    WNNStatus status = WNNStatus_UnknownError;
    WNNRequestCallbackInfo callback = WNN_REQUEST_CALLBACK_INFO_INIT;
    callback.callback = end_dispatch;
    callback.userdata1 = &status;
    WNNDispatchDescriptor dispatch = WNN_DISPATCH_DESCRIPTOR_INIT;
    dispatch.graph = detector->network.graph;
    dispatch.inputCount = dispatch.outputCount = detector->count;
    dispatch.inputs = detector->in;
    dispatch.outputs = detector->out;
    WNNFutureWaitInfo wait = {.future = wnnContextDispatch(context, &dispatch, callback)};
    wnnContextWaitAny(context, 1, &wait, WNN_WAIT_FOREVER);
    char message[1024];
    if (status != WNNStatus_Success)
        return false;
    if (wnnContextReadTensorSync(context, detector->out[0].tensor, likely, sizeof *likely, sizeof message,
                                 message) != WNNStatus_Success) {
        complain("%s: %s", detector->network.path, message);
        return false;
    }

    // The states after this window are those before the next.
    for (size_t i = 1; i < detector->count; i++) {
        WNNTensor state = detector->in[i].tensor;
        detector->in[i].tensor = detector->out[i].tensor;
        detector->out[i].tensor = state;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Speech
// ---------------------------------------------------------------------------------------------------------------

// Speech begins with a window that is likely, and ends where windows have been unlikely for a while.
struct speech {
    bool inside;
    double begin, end; // of what is likely so far, in seconds
};

static void print_speech(struct speech *speech)
{
    const double least = 0.25;
    if (speech->inside && speech->end - speech->begin >= least)
        printf("%.2f - %.2f\n", speech->begin, speech->end);
    speech->inside = false;
}

static void follow_speech(struct speech *speech, float likely, double begin, double end)
{
    const float enter = 0.5f, leave = 0.35f;
    const double pause = 0.3;
    if (likely >= enter && !speech->inside)
        *speech = (struct speech){true, begin, end};
    else if (likely >= leave && speech->inside)
        speech->end = end;
    else if (speech->inside && end - speech->end >= pause)
        print_speech(speech);
}

static bool find_speech(struct detector *detector, struct sound *sound)
{
    float samples[MAX_WINDOW] = {0};
    float likely;
    struct speech speech = {false, 0, 0};
    bool good = true;
    for (uint64_t at = 0; good && read_samples(sound, samples + detector->overlap, detector->window);
         at += detector->window) {
        good = hear(detector, samples, &likely);
        if (good)
            follow_speech(&speech, likely, (double)at / sound->rate,
                          (double)(at + detector->window) / sound->rate);
        memmove(samples, samples + detector->window, detector->overlap * sizeof *samples);
    }
    print_speech(&speech);
    return good;
}

int main(int argc, char **argv)
{
    struct detector detector = {.count = 0};
    struct sound sound = {.file = NULL};
    WNNContext context = open_context(&argc, &argv);
    if (argc != 3) {
        complain("usage: find_voice [--gpu] MODEL SOUND");
        wnnContextRelease(context);
        return 2;
    }
    bool good = context && open_sound(argv[2], &sound) && network_open(&detector.network, context, argv[1]) &&
                open_detector(&detector, sound.rate) && find_speech(&detector, &sound);
    if (sound.file)
        fclose(sound.file);
    close_detector(&detector);
    wnnContextRelease(context);
    return good && fflush(stdout) == 0 ? 0 : 1;
}
