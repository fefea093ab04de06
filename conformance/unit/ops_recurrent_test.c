// SPDX-License-Identifier: Apache-2.0
//
// Validation of gru, gruCell, lstm and lstmCell. All calls here have 5 steps, batch 2, input size 3 and
// hidden size 4 unless they say otherwise.

#include "conformance/unit/validation.h"

static const WNNGruOptions gru_defaults = WNN_GRU_OPTIONS_INIT;
static const WNNGruCellOptions gru_cell_defaults = WNN_GRU_CELL_OPTIONS_INIT;
static const WNNLstmOptions lstm_defaults = WNN_LSTM_OPTIONS_INIT;
static const WNNLstmCellOptions lstm_cell_defaults = WNN_LSTM_CELL_OPTIONS_INIT;
static WNNGruOptions g;
static WNNGruCellOptions gc;
static WNNLstmOptions l;
static WNNLstmCellOptions lc;
static WNNOperand out[3];

#define X               F32(5, 2, 3)
#define GRU(w, r, ...)  (g = gru_defaults, __VA_ARGS__, wnnGraphBuilderGru(b, X, w, r, 5, 4, &g, out))
#define LSTM(w, r, ...) (l = lstm_defaults, __VA_ARGS__, wnnGraphBuilderLstm(b, X, w, r, 5, 4, &l, out))
#define GRU_CELL(x, w, r, h, ...)                                                                            \
    (gc = gru_cell_defaults, __VA_ARGS__, wnnGraphBuilderGruCell(b, x, w, r, h, 4, &gc))
#define LSTM_CELL(x, w, r, h, c, ...)                                                                        \
    (lc = lstm_cell_defaults, __VA_ARGS__, wnnGraphBuilderLstmCell(b, x, w, r, h, c, 4, &lc, out))

#define ACTIVATIONS(...)                                                                                     \
    ((WNNActivationList){(WNNActivation[]){__VA_ARGS__},                                                     \
                         sizeof((WNNActivation[]){__VA_ARGS__}) / sizeof(WNNActivation)})

static void test_gru(void)
{
    WNNOperand w = F32(1, 12, 3), r = F32(1, 12, 4);
    WNNActivation relu = wnnGraphBuilderActivationRelu(b, NULL);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGru(b, X, w, r, 5, 4, NULL, out), 1);
    ACCEPTS(out[0], Float32, LIST(1, 2, 4));
    REQUIRE(out[1] == NULL);
    REQUIRE_EQUAL_INT(GRU(w, r, g.returnSequence = true, g.direction = WNNRecurrentNetworkDirection_Backward,
                          g.bias = F32(1, 12), g.recurrentBias = F32(1, 12),
                          g.initialHiddenState = F32(1, 2, 4),
                          g.activations = ACTIVATIONS(relu, wnnGraphBuilderActivationSoftmax(b, NULL))),
                      2);
    ACCEPTS(out[0], Float32, LIST(1, 2, 4));
    ACCEPTS(out[1], Float32, LIST(5, 1, 2, 4));
    REQUIRE_EQUAL_INT(GRU(F32(2, 12, 3), F32(2, 12, 4), g.direction = WNNRecurrentNetworkDirection_Both,
                          g.returnSequence = true),
                      2);
    ACCEPTS(out[0], Float32, LIST(2, 2, 4));
    ACCEPTS(out[1], Float32, LIST(5, 2, 2, 4));

    REFUSES(wnnGraphBuilderGru(b, X, w, r, 4, 4, NULL, out),
            "gru: steps is 4; expected 5, the first dimension of input [5, 2, 3]");
    REFUSES(wnnGraphBuilderGru(b, X, w, r, 0, 4, NULL, out),
            "gru: steps is 0; expected 5, the first dimension of input [5, 2, 3]");
    REFUSES(wnnGraphBuilderGru(b, X, w, r, 5, 0, NULL, out), "gru: hiddenSize is 0; expected 1 to 357913941");
    REFUSES(wnnGraphBuilderGru(b, X, w, r, 5, 357913942, NULL, out),
            "gru: hiddenSize is 357913942; expected 1 to 357913941");
    REFUSES(wnnGraphBuilderGru(b, X, w, r, 5, 357913941, NULL, out),
            "gru: weight has shape [1, 12, 3]; expected [1, 1073741823, 3] (input [5, 2, 3])");
    REFUSES(GRU(w, r, g.direction = WNNRecurrentNetworkDirection_Both),
            "gru: weight has shape [1, 12, 3]; expected [2, 12, 3] (input [5, 2, 3])");
    REFUSES(GRU(F32(1, 12, 4), r, (void)0),
            "gru: weight has shape [1, 12, 4]; expected [1, 12, 3] (input [5, 2, 3])");
    REFUSES(GRU(w, w, (void)0),
            "gru: recurrentWeight has shape [1, 12, 3]; expected [1, 12, 4] (input [5, 2, 3])");
    REFUSES(GRU(w, r, g.bias = F32(1, 4)), "gru: bias has shape [1, 4]; expected [1, 12] (input [5, 2, 3])");
    REFUSES(GRU(w, r, g.bias = F32(12)), "gru: bias has shape [12] of rank 1; expected rank 2");
    REFUSES(GRU(w, r, g.recurrentBias = F32(2, 12)),
            "gru: recurrentBias has shape [2, 12]; expected [1, 12] (input [5, 2, 3])");
    REFUSES(GRU(w, r, g.initialHiddenState = F32(1, 5, 4)),
            "gru: initialHiddenState has shape [1, 5, 4]; expected [1, 2, 4] (input [5, 2, 3])");
    REFUSES(GRU(w, r, g.initialHiddenState = F16(1, 2, 4)),
            "gru: initialHiddenState has data type float16; expected float32, the type of input");
    REFUSES(GRU(w, r, g.activations = ACTIVATIONS(relu)), "gru: activations has 1 items; expected 2");
    REFUSES(GRU(w, r, g.activations = ACTIVATIONS(relu, relu, relu)),
            "gru: activations has 3 items; expected 2");
    REFUSES(GRU(w, r, g.activations = ACTIVATIONS(relu, NULL)),
            "gru: activations has an activation that is NULL");
    REFUSES(GRU(w, r, g.activations = ((WNNActivationList){NULL, 2})),
            "gru: activations has 2 items; expected those of the operator");
    REFUSES(GRU(w, r, g.activations = ((WNNActivationList){&relu, 8193})),
            "gru: activations has 8193 items; expected those of the operator");
    REFUSES(GRU(w, r, g.direction = (WNNRecurrentNetworkDirection)4),
            "gru: direction is 4; expected an enumerator from 1 to 3");
    REFUSES(GRU(w, r, g.layout = (WNNGruWeightLayout)3),
            "gru: layout is 3; expected an enumerator from 1 to 2");
    REFUSES(wnnGraphBuilderGru(b, F32(5, 3), w, r, 5, 4, NULL, out),
            "gru: input has shape [5, 3] of rank 2; expected rank 3");
    REFUSES(wnnGraphBuilderGru(b, X, w, r, 5, 4, NULL, NULL), "gru: has 1 outputs; there is room for 0");
    // An activation whose option becomes illegal in the type of the operator.
    WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
    softplus.steepness = 1e-30;
    WNNActivation flat = wnnGraphBuilderActivationSoftplus(b, &softplus);
    REQUIRE_EQUAL_INT(GRU(w, r, g.activations = ACTIVATIONS(flat, relu)), 1);
    REFUSES((g.activations = ACTIVATIONS(flat, relu),
             wnnGraphBuilderGru(b, F16(5, 2, 3), F16(1, 12, 3), F16(1, 12, 4), 5, 4, &g, out)),
            "softplus: steepness is 1e-30; expected a number that is not 0 in float16");
}

static void test_gru_cell(void)
{
    WNNOperand x = F32(2, 3), w = F32(12, 3), r = F32(12, 4), h = F32(2, 4);
    WNNActivation relu = wnnGraphBuilderActivationRelu(b, NULL);
    ACCEPTS(wnnGraphBuilderGruCell(b, x, w, r, h, 4, NULL), Float32, LIST(2, 4));
    ACCEPTS(GRU_CELL(x, w, r, h, gc.bias = F32(12), gc.recurrentBias = F32(12),
                     gc.activations = ACTIVATIONS(relu, relu)),
            Float32, LIST(2, 4));
    REFUSES(wnnGraphBuilderGruCell(b, x, w, r, h, 0, NULL),
            "gruCell: hiddenSize is 0; expected 1 to 357913941");
    REFUSES(GRU_CELL(x, F32(3, 12), r, h, (void)0),
            "gruCell: weight has shape [3, 12]; expected [12, 3] (input [2, 3])");
    REFUSES(GRU_CELL(x, w, w, h, (void)0),
            "gruCell: recurrentWeight has shape [12, 3]; expected [12, 4] (input [2, 3])");
    REFUSES(GRU_CELL(x, w, r, F32(3, 4), (void)0),
            "gruCell: hiddenState has shape [3, 4]; expected [2, 4] (input [2, 3])");
    REFUSES(GRU_CELL(x, w, r, h, gc.bias = F32(4)),
            "gruCell: bias has shape [4]; expected [12] (input [2, 3])");
    REFUSES(GRU_CELL(x, w, r, h, gc.recurrentBias = F32(16)),
            "gruCell: recurrentBias has shape [16]; expected [12] (input [2, 3])");
    REFUSES(GRU_CELL(x, w, r, h, gc.activations = ACTIVATIONS(relu)),
            "gruCell: activations has 1 items; expected 2");
    REFUSES(GRU_CELL(x, w, r, h, gc.layout = (WNNGruWeightLayout)0),
            "gruCell: layout is 0; expected an enumerator from 1 to 2");
}

static void test_lstm(void)
{
    WNNOperand w = F32(1, 16, 3), r = F32(1, 16, 4);
    WNNActivation relu = wnnGraphBuilderActivationRelu(b, NULL);
    REQUIRE_EQUAL_INT(wnnGraphBuilderLstm(b, X, w, r, 5, 4, NULL, out), 2);
    ACCEPTS(out[0], Float32, LIST(1, 2, 4));
    ACCEPTS(out[1], Float32, LIST(1, 2, 4));
    REQUIRE(out[2] == NULL);
    REQUIRE_EQUAL_INT(LSTM(w, r, l.returnSequence = true, l.direction = WNNRecurrentNetworkDirection_Backward,
                           l.bias = F32(1, 16), l.recurrentBias = F32(1, 16), l.peepholeWeight = F32(1, 12),
                           l.initialHiddenState = F32(1, 2, 4), l.initialCellState = F32(1, 2, 4),
                           l.activations = ACTIVATIONS(relu, relu, relu)),
                      3);
    ACCEPTS(out[2], Float32, LIST(5, 1, 2, 4));
    REQUIRE_EQUAL_INT(LSTM(F32(2, 16, 3), F32(2, 16, 4), l.direction = WNNRecurrentNetworkDirection_Both), 2);
    ACCEPTS(out[1], Float32, LIST(2, 2, 4));

    REFUSES(wnnGraphBuilderLstm(b, X, w, r, 6, 4, NULL, out),
            "lstm: steps is 6; expected 5, the first dimension of input [5, 2, 3]");
    REFUSES(wnnGraphBuilderLstm(b, X, w, r, 5, 268435456, NULL, out),
            "lstm: hiddenSize is 268435456; expected 1 to 268435455");
    REFUSES(LSTM(F32(2, 16, 3), r, (void)0),
            "lstm: weight has shape [2, 16, 3]; expected [1, 16, 3] (input [5, 2, 3])");
    REFUSES(LSTM(w, F32(1, 16, 3), (void)0),
            "lstm: recurrentWeight has shape [1, 16, 3]; expected [1, 16, 4] (input [5, 2, 3])");
    REFUSES(LSTM(w, r, l.bias = F32(1, 12)),
            "lstm: bias has shape [1, 12]; expected [1, 16] (input [5, 2, 3])");
    REFUSES(LSTM(w, r, l.recurrentBias = F32(1, 12)),
            "lstm: recurrentBias has shape [1, 12]; expected [1, 16] (input [5, 2, 3])");
    REFUSES(LSTM(w, r, l.peepholeWeight = F32(1, 16)),
            "lstm: peepholeWeight has shape [1, 16]; expected [1, 12] (input [5, 2, 3])");
    REFUSES(LSTM(w, r, l.initialHiddenState = F32(2, 1, 4)),
            "lstm: initialHiddenState has shape [2, 1, 4]; expected [1, 2, 4] (input [5, 2, 3])");
    REFUSES(LSTM(w, r, l.initialCellState = F32(1, 2, 3)),
            "lstm: initialCellState has shape [1, 2, 3]; expected [1, 2, 4] (input [5, 2, 3])");
    REFUSES(LSTM(w, r, l.activations = ACTIVATIONS(relu, relu)), "lstm: activations has 2 items; expected 3");
    REFUSES(LSTM(w, r, l.layout = (WNNLstmWeightLayout)3),
            "lstm: layout is 3; expected an enumerator from 1 to 2");
    REFUSES(wnnGraphBuilderLstm(b, I32(5, 2, 3), w, r, 5, 4, NULL, out),
            "lstm: input has data type int32; expected float32 or float16");
}

static void test_lstm_cell(void)
{
    WNNOperand x = F32(2, 3), w = F32(16, 3), r = F32(16, 4), h = F32(2, 4);
    WNNActivation relu = wnnGraphBuilderActivationRelu(b, NULL);
    REQUIRE_EQUAL_INT(wnnGraphBuilderLstmCell(b, x, w, r, h, h, 4, NULL, out), 2);
    ACCEPTS(out[0], Float32, LIST(2, 4));
    ACCEPTS(out[1], Float32, LIST(2, 4));
    REQUIRE_EQUAL_INT(LSTM_CELL(x, w, r, h, h, lc.bias = F32(16), lc.recurrentBias = F32(16),
                                lc.peepholeWeight = F32(12), lc.activations = ACTIVATIONS(relu, relu, relu)),
                      2);
    REFUSES(wnnGraphBuilderLstmCell(b, x, w, r, h, h, 0xFFFFFFFFu, NULL, out),
            "lstmCell: hiddenSize is 4294967295; expected 1 to 268435455");
    REFUSES(LSTM_CELL(x, F32(12, 3), r, h, h, (void)0),
            "lstmCell: weight has shape [12, 3]; expected [16, 3] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, w, h, h, (void)0),
            "lstmCell: recurrentWeight has shape [16, 3]; expected [16, 4] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, r, x, h, (void)0),
            "lstmCell: hiddenState has shape [2, 3]; expected [2, 4] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, r, h, x, (void)0),
            "lstmCell: cellState has shape [2, 3]; expected [2, 4] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, r, h, h, lc.bias = F32(12)),
            "lstmCell: bias has shape [12]; expected [16] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, r, h, h, lc.recurrentBias = F32(12)),
            "lstmCell: recurrentBias has shape [12]; expected [16] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, r, h, h, lc.peepholeWeight = F32(16)),
            "lstmCell: peepholeWeight has shape [16]; expected [12] (input [2, 3])");
    REFUSES(LSTM_CELL(x, w, r, h, h, lc.activations = ACTIVATIONS(relu, relu)),
            "lstmCell: activations has 2 items; expected 3");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_gru());
    CASE(test_gru_cell());
    CASE(test_lstm());
    CASE(test_lstm_cell());
    end();
    return cases_end();
}
