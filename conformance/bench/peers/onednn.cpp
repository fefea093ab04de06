// SPDX-License-Identifier: Apache-2.0
//
// usage: onednn FOLDER, with OMP_NUM_THREADS and PEER_SECONDS in the environment
//
// Runs plan.txt and plan.bin of a folder that onednn.py wrote with oneDNN's primitives, each with the memory
// formats that it prefers, compares the results with those of the folder, and prints how long it took as
// `webnn bench --vs` reads it.

#include <oneapi/dnnl/dnnl.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

using namespace dnnl;
using dims = memory::dims;
using desc = memory::desc;

static engine cpu(engine::kind::cpu, 0);
static stream order(cpu);

struct step {
    primitive what;
    std::unordered_map<int, memory> arguments;
};

static dims dense_strides(const dims &shape)
{
    dims strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
        strides[i - 1] = strides[i] * shape[i];
    return strides;
}

static desc dense(const dims &shape)
{
    return desc(shape, memory::data_type::f32, dense_strides(shape));
}

// The format is the primitive's choice.
static desc any(const dims &shape)
{
    return desc(shape, memory::data_type::f32, memory::format_tag::any);
}

static memory view(const memory &of, const desc &as)
{
    return memory(as, cpu, of.get_data_handle());
}

static std::vector<char> read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

// The numbers of a .npy file.
static std::vector<float> read_array(const std::string &path)
{
    std::vector<char> bytes = read_file(path);
    uint16_t header;
    memcpy(&header, &bytes.at(8), sizeof header);
    std::vector<float> numbers((bytes.size() - 10 - header) / sizeof(float));
    memcpy(numbers.data(), &bytes.at(10 + header), numbers.size() * sizeof(float));
    return numbers;
}

class plan
{
  public:
    explicit plan(const std::string &folder) : folder(folder), constants(read_file(folder + "/plan.bin"))
    {
        std::ifstream file(folder + "/plan.txt");
        for (std::string text; std::getline(file, text);) {
            line = std::istringstream(text);
            std::string kind = word(), name = word();
            results[name] = (this->*steps_of.at(kind))(name);
        }
    }

    void run()
    {
        for (step &step : steps)
            step.what.execute(order, step.arguments);
        order.wait();
    }

    void check() const
    {
        for (const std::string &name : outputs) {
            memory result = results.at(name), plain(dense(result.get_desc().dims()), cpu);
            reorder(result, plain).execute(order, const_cast<memory &>(result), plain);
            order.wait();
            std::vector<float> expected = read_array(folder + "/" + name + ".npy");
            const float *got = static_cast<const float *>(plain.get_data_handle());
            float most = 0, largest = 0;
            for (size_t i = 0; i < expected.size(); i++) {
                most = std::max(most, std::fabs(got[i] - expected[i]));
                largest = std::max(largest, std::fabs(expected[i]));
            }
            if (plain.get_desc().get_size() != expected.size() * sizeof(float) || !(most < 1e-3f * largest))
                throw std::runtime_error(name + " differs from what this library computes");
        }
    }

  private:
    std::string folder;
    std::vector<char> constants;
    std::istringstream line;
    std::map<std::string, memory> results;
    std::vector<std::string> outputs;
    std::vector<step> steps;
    static const std::map<std::string, memory (plan::*)(const std::string &)> steps_of;

    std::string word()
    {
        std::string text;
        line >> text;
        return text;
    }

    float number()
    {
        return std::stof(word());
    }

    // So many numbers, or the rest of the line.
    dims numbers(size_t most = DNNL_MAX_NDIMS)
    {
        dims values;
        for (memory::dim value; values.size() < most && line >> value;)
            values.push_back(value);
        return values;
    }

    // An empty memory for "-".
    memory operand()
    {
        std::string name = word();
        return name == "-" ? memory() : results.at(name);
    }

    void append_activation(post_ops &post)
    {
        std::string kind = word();
        float a = number(), b = number();
        if (kind == "relu")
            post.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
        else if (kind == "clip")
            post.append_eltwise(1, algorithm::eltwise_clip, a, b);
        else if (kind == "gelu")
            post.append_eltwise(1, algorithm::eltwise_gelu_erf, 0, 0);
        else if (kind == "linear")
            post.append_eltwise(1, algorithm::eltwise_linear, a, b);
    }

    static primitive_attr attributes(const post_ops &post)
    {
        primitive_attr result;
        result.set_post_ops(post);
        return result;
    }

    memory put(const primitive &what, std::unordered_map<int, memory> arguments, const memory &result)
    {
        arguments[DNNL_ARG_DST] = result;
        steps.push_back({what, arguments});
        return result;
    }

    // The value in another format, reordered at every run.
    memory in_format(const memory &value, const desc &format)
    {
        if (value.get_desc() == format)
            return value;
        return put(reorder(value, memory(format, cpu)), {{DNNL_ARG_FROM, value}}, memory(format, cpu));
    }

    // Constants are reordered once.
    static memory packed(const memory &value, const desc &format)
    {
        if (value.get_desc() == format)
            return value;
        memory result(format, cpu);
        reorder(value, result).execute(order, const_cast<memory &>(value), result);
        order.wait();
        return result;
    }

    memory input(const std::string &name)
    {
        dims shape = numbers();
        std::vector<float> values = read_array(folder + "/" + name + ".npy");
        memory result(dense(shape), cpu);
        memcpy(result.get_data_handle(), values.data(), result.get_desc().get_size());
        return result;
    }

    memory constant(const std::string &)
    {
        size_t offset = (size_t)numbers(1).at(0);
        dims shape = numbers();
        if (shape.empty())
            shape = {1};
        return memory(dense(shape), cpu, constants.data() + offset);
    }

    memory output(const std::string &name)
    {
        outputs.push_back(name);
        return results.at(name);
    }

    memory conv(const std::string &)
    {
        memory x = operand(), filter = operand(), bias = operand();
        dims strides = numbers(2), pads = numbers(4), xs = x.get_desc().dims(), ws = filter.get_desc().dims();
        memory::dim groups = numbers(1)[0];
        memory addend = operand();
        bool in_place = numbers(1)[0];
        dims ys = {xs[0], ws[0], (xs[2] + pads[0] + pads[2] - ws[2]) / strides[0] + 1,
                   (xs[3] + pads[1] + pads[3] - ws[3]) / strides[1] + 1};
        if (groups > 1)
            filter = view(filter, dense({groups, ws[0] / groups, ws[1], ws[2], ws[3]}));
        post_ops post;
        if (addend)
            post.append_sum(1);
        append_activation(post);
        convolution_forward::primitive_desc chosen(
            convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, any(xs),
                                      any(filter.get_desc().dims()), bias ? bias.get_desc() : desc(), any(ys),
                                      strides, {pads[0], pads[1]}, {pads[2], pads[3]}),
            attributes(post), cpu);
        memory y(chosen.dst_desc(), cpu);
        if (addend && in_place && addend.get_desc() == chosen.dst_desc())
            y = addend;
        else if (addend)
            put(reorder(addend, y), {{DNNL_ARG_FROM, addend}}, y);
        std::unordered_map<int, memory> arguments = {
            {DNNL_ARG_SRC, in_format(x, chosen.src_desc())},
            {DNNL_ARG_WEIGHTS, packed(filter, chosen.weights_desc())}};
        if (bias)
            arguments[DNNL_ARG_BIAS] = bias;
        return put(convolution_forward(chosen), arguments, y);
    }

    memory pool(const std::string &)
    {
        memory x = operand();
        bool max = word() == "max";
        dims window = numbers(2), strides = numbers(2), pads = numbers(4), xs = x.get_desc().dims();
        dims ys = {xs[0], xs[1], (xs[2] + pads[0] + pads[2] - window[0]) / strides[0] + 1,
                   (xs[3] + pads[1] + pads[3] - window[1]) / strides[1] + 1};
        pooling_forward::primitive_desc chosen(
            {prop_kind::forward_inference,
             max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
             x.get_desc(),
             any(ys),
             strides,
             window,
             {pads[0], pads[1]},
             {pads[2], pads[3]}},
            cpu);
        return put(pooling_forward(chosen), {{DNNL_ARG_SRC, x}}, memory(chosen.dst_desc(), cpu));
    }

    memory inner(const std::string &)
    {
        memory x = operand(), weights = operand(), bias = operand();
        dims xs = x.get_desc().dims(), ws = weights.get_desc().dims();
        inner_product_forward::primitive_desc chosen({prop_kind::forward_inference, any(xs), any(ws),
                                                      bias ? bias.get_desc() : desc(), dense({xs[0], ws[0]})},
                                                     cpu);
        std::unordered_map<int, memory> arguments = {
            {DNNL_ARG_SRC, in_format(x, chosen.src_desc())},
            {DNNL_ARG_WEIGHTS, packed(weights, chosen.weights_desc())}};
        if (bias)
            arguments[DNNL_ARG_BIAS] = bias;
        return put(inner_product_forward(chosen), arguments, memory(chosen.dst_desc(), cpu));
    }

    // With ones in front, so that it has so many dimensions.
    static memory of_rank(const memory &value, size_t rank)
    {
        dims shape = value.get_desc().dims();
        if (shape.size() == rank)
            return value;
        shape.insert(shape.begin(), rank - shape.size(), 1);
        return view(value, dense(shape));
    }

    static std::vector<int> axes_of(const std::string &permutation)
    {
        std::vector<int> axes;
        std::istringstream text(permutation);
        for (std::string axis; permutation != "-" && std::getline(text, axis, ',');)
            axes.push_back(std::stoi(axis));
        return axes;
    }

    // The result may be written transposed, for the operator that follows.
    memory matmul(const std::string &)
    {
        memory a = operand(), b = operand();
        bool fixed = numbers(1)[0];
        memory bias = operand(), addend = operand();
        std::vector<int> axes = axes_of(word());
        size_t rank = a.get_desc().dims().size();
        b = of_rank(b, rank);
        dims as = a.get_desc().dims(), bs = b.get_desc().dims(), ys = as;
        ys.back() = bs.back();
        if (bias)
            bias = of_rank(bias, rank);
        post_ops post;
        append_activation(post);
        if (addend)
            post.append_binary(algorithm::binary_add, addend.get_desc());
        dims outer;
        for (int axis : axes)
            outer.push_back(ys[(size_t)axis]);
        desc format = axes.empty() ? dense(ys) : dense(outer).permute_axes(axes);
        dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a.get_desc(), fixed ? any(bs) : b.get_desc(),
                                                               bias ? bias.get_desc() : desc(), format),
                                            attributes(post), cpu);
        std::unordered_map<int, memory> arguments = {
            {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, fixed ? packed(b, chosen.weights_desc()) : b}};
        if (bias)
            arguments[DNNL_ARG_BIAS] = bias;
        if (addend)
            arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(post.len() - 1) | DNNL_ARG_SRC_1] = addend;
        memory y = put(dnnl::matmul(chosen), arguments, memory(chosen.dst_desc(), cpu));
        return axes.empty() ? y : view(y, dense(outer));
    }

    memory elementwise(const std::string &)
    {
        memory x = operand(), y(x.get_desc(), cpu);
        bool relu = word() == "relu";
        eltwise_forward::primitive_desc chosen({prop_kind::forward_inference,
                                                relu ? algorithm::eltwise_relu : algorithm::eltwise_gelu_erf,
                                                x.get_desc(), 0.f, 0.f},
                                               cpu);
        return put(eltwise_forward(chosen), {{DNNL_ARG_SRC, x}}, y);
    }

    memory add(const std::string &)
    {
        memory a = operand(), b = operand();
        b = of_rank(b, a.get_desc().dims().size());
        post_ops post;
        append_activation(post);
        binary::primitive_desc chosen({algorithm::binary_add, a.get_desc(), b.get_desc(), a.get_desc()},
                                      attributes(post), cpu);
        return put(binary(chosen), {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}},
                   memory(chosen.dst_desc(), cpu));
    }

    memory softmax(const std::string &)
    {
        memory x = operand();
        softmax_forward::primitive_desc chosen({prop_kind::forward_inference, x.get_desc(), (int)number()},
                                               cpu);
        return put(softmax_forward(chosen), {{DNNL_ARG_SRC, x}}, memory(chosen.dst_desc(), cpu));
    }

    memory norm(const std::string &)
    {
        memory x = operand(), scale = operand(), bias = operand();
        layer_normalization_forward::primitive_desc chosen(
            {prop_kind::forward_inference, x.get_desc(), number(),
             normalization_flags::use_scale | normalization_flags::use_shift},
            cpu);
        return put(layer_normalization_forward(chosen),
                   {{DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, bias}},
                   memory(chosen.dst_desc(), cpu));
    }

    memory reshape(const std::string &)
    {
        memory x = operand();
        dims shape = numbers();
        return view(in_format(x, dense(x.get_desc().dims())), dense(shape));
    }

    // Only the description changes.
    memory transpose(const std::string &)
    {
        memory x = operand();
        std::vector<int> inverse(x.get_desc().dims().size());
        dims axes = numbers();
        for (size_t i = 0; i < axes.size(); i++)
            inverse[(size_t)axes[i]] = (int)i;
        return view(x, x.get_desc().permute_axes(inverse));
    }

    // ONNX's [1, gates * hidden, inputs] as the [layer, direction, inputs, gates, hidden] of oneDNN.
    static memory gate_matrix(const memory &weights, memory::dim gates)
    {
        dims shape = weights.get_desc().dims();
        memory::dim hidden = shape[1] / gates, inputs = shape[2];
        return view(weights, desc({1, 1, inputs, gates, hidden}, memory::data_type::f32,
                                  dims{shape[1] * inputs, shape[1] * inputs, 1, hidden * inputs, inputs}));
    }

    memory gru(const std::string &)
    {
        return recurrent(
            3, [](const desc &x, const desc &layer, const desc &iteration, const desc &bias, const desc &y) {
                return gru_forward::primitive_desc({prop_kind::forward_inference,
                                                    rnn_direction::unidirectional_left2right, x, desc(),
                                                    layer, iteration, bias, y, desc()},
                                                   cpu);
            });
    }

    memory lstm(const std::string &)
    {
        return recurrent(
            4, [](const desc &x, const desc &layer, const desc &iteration, const desc &bias, const desc &y) {
                return lstm_forward::primitive_desc({prop_kind::forward_inference,
                                                     rnn_direction::unidirectional_left2right, x, desc(),
                                                     desc(), layer, iteration, bias, y, desc(), desc()},
                                                    cpu);
            });
    }

    template <typename choose> memory recurrent(memory::dim gates, choose describe)
    {
        memory x = operand(), weights = operand(), iteration = operand(), bias = operand();
        dims xs = x.get_desc().dims();
        memory::dim hidden = weights.get_desc().dims()[1] / gates;
        weights = gate_matrix(weights, gates);
        iteration = gate_matrix(iteration, gates);
        bias = view(bias, dense({1, 1, gates, hidden}));
        auto chosen = describe(x.get_desc(), any(weights.get_desc().dims()), any(iteration.get_desc().dims()),
                               bias.get_desc(), dense({xs[0], xs[1], hidden}));
        memory y = memory(chosen.dst_layer_desc(), cpu);
        steps.push_back({primitive(chosen.get()),
                         {{DNNL_ARG_SRC_LAYER, x},
                          {DNNL_ARG_WEIGHTS_LAYER, packed(weights, chosen.weights_layer_desc())},
                          {DNNL_ARG_WEIGHTS_ITER, packed(iteration, chosen.weights_iter_desc())},
                          {DNNL_ARG_BIAS, bias},
                          {DNNL_ARG_DST_LAYER, y}}});
        return view(y, dense({xs[0], 1, xs[1], hidden}));
    }
};

const std::map<std::string, memory (plan::*)(const std::string &)> plan::steps_of = {
    {"input", &plan::input},     {"constant", &plan::constant}, {"output", &plan::output},
    {"conv", &plan::conv},       {"pool", &plan::pool},         {"inner", &plan::inner},
    {"matmul", &plan::matmul},   {"add", &plan::add},           {"elementwise", &plan::elementwise},
    {"softmax", &plan::softmax}, {"norm", &plan::norm},         {"reshape", &plan::reshape},
    {"gru", &plan::gru},         {"lstm", &plan::lstm},         {"transpose", &plan::transpose},
};

static double milliseconds()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static void measure(const char *folder)
{
    const char *seconds = getenv("PEER_SECONDS");
    double limit = 1e3 * (seconds ? atof(seconds) : 0.3), least = INFINITY, begin;
    plan network(folder);
    network.run();
    network.check();
    begin = milliseconds();
    for (int runs = 0; runs < 3 || milliseconds() - begin < limit; runs++) {
        double start = milliseconds();
        network.run();
        least = std::min(least, milliseconds() - start);
    }
    const version_t *version = dnnl::version();
    printf("{\"peer\": \"onednn %d.%d.%d\", \"min_ms\": %.6f}\n", version->major, version->minor,
           version->patch, least);
}

int main(int, char **arguments)
{
    try {
        measure(arguments[1]);
        return 0;
    } catch (const std::exception &problem) {
        fprintf(stderr, "%s\n", problem.what());
        return 1;
    }
}
