// SPDX-License-Identifier: Apache-2.0
#include "tools/model/foreign.h"

// What stands at which place of files of that kind, and what they are.
static const struct {
    size_t at;
    const char *text;
    size_t size;
    const char *name;
} signatures[] = {
#define AT(place, text, name)                                                                                \
    {                                                                                                        \
        place, text, sizeof(text) - 1, name                                                                  \
    }
    AT(0, "version https://git-lfs", "a pointer of Git LFS: the file itself has not been fetched"),
    AT(0, "GGUF", "GGUF, weights for llama.cpp"),
    AT(0, "PK\x03\x04", "a ZIP archive, as models of PyTorch and Keras are; export it to ONNX"),
    AT(0, "\x89HDF", "HDF5, as older models of Keras are; export it to ONNX or TensorFlow Lite"),
    AT(0, "\x80\x02", "a pickle of Python, as older models of PyTorch are; export it to ONNX"),
    AT(0, "\x80\x04", "a pickle of Python; export the model to ONNX"),
    AT(4, "ORTM", "the format of ONNX Runtime; take the ONNX model that it was made of"),
    AT(8, "{\"", ".safetensors, which are weights without a graph"),
    AT(0, "7767517\n", "ncnn"),
    AT(0, "<?xml", "XML, as models of OpenVINO are; take the model that it was converted from"),
    AT(0, "<net", "XML, as models of OpenVINO are; take the model that it was converted from"),
    AT(0, "{", "JSON; of TensorFlow.js, take the model that it was converted from"),
    AT(0, "\x93NUMPY", "an array of NumPy"),
    AT(0, "\x89PNG", "an image"),
    AT(0, "\xFF\xD8\xFF", "an image"),
    AT(0, "\x1F\x8B", "compressed with gzip; unpack it"),
    AT(0, "<!DOCTYPE", "a page of HTML: was it downloaded from the right place?"),
    AT(0, "<html", "a page of HTML: was it downloaded from the right place?"),
};

const char *wnn_model_foreign(struct bytes bytes)
{
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (bytes.size >= signatures[i].at + signatures[i].size &&
            memcmp(bytes.data + signatures[i].at, signatures[i].text, signatures[i].size) == 0)
            return signatures[i].name;
    return bytes.size == 0 ? "empty" : NULL;
}
