// SPDX-License-Identifier: Apache-2.0
//
// The interfaces of navigator.ml except for the operators, which come from the operator table (operators.mjs). Where
// the texts exclude each other, [Legacy] marks what only that of 2024-04-15 has, [Modern] what it has not, [Draft] what
// only today's has, [Static] what only those before it have. What no text has is listed in README.md with the reason:
// deviceType, int4 and uint4, devices, the dynamic shapes draft.

export default `
enum MLPowerPreference { "default", "high-performance", "low-power" };
enum MLOperandDataType {
  "float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8", "int4", "uint4"
};
enum MLRecurrentNetworkActivation { "relu", "sigmoid", "tanh" };
enum MLInputOperandLayout { "nchw", "nhwc" };

typedef (bigint or unrestricted double) MLNumber;
typedef ([EnforceRange] unsigned long or DOMString) MLDimension;

dictionary MLContextOptions {
  boolean accelerated = true;
  DOMString deviceType;
  MLPowerPreference powerPreference = "default";
};
dictionary MLOperandDescriptor {
  required MLOperandDataType dataType;
  [Modern] required sequence<[EnforceRange] unsigned long> shape;
  [Legacy] sequence<[EnforceRange] unsigned long> shape;
  [Legacy] sequence<[EnforceRange] unsigned long> dimensions = [];
};
dictionary MLInputOperandDescriptor {
  required MLOperandDataType dataType;
  [Draft] required sequence<MLDimension?> shape;
  [Static, Modern] required sequence<[EnforceRange] unsigned long> shape;
  [Legacy] sequence<[EnforceRange] unsigned long> shape;
  [Legacy] sequence<[EnforceRange] unsigned long> dimensions = [];
};
dictionary MLTensorDescriptor : MLOperandDescriptor {
  boolean readable = false;
  boolean writable = false;
};
dictionary MLOperatorOptions {
  USVString label = "";
};
dictionary MLContextLostInfo {
  DOMString message;
};
dictionary MLRankRange {
  unsigned long min;
  unsigned long max;
};
dictionary MLTensorLimits {
  sequence<MLOperandDataType> dataTypes;
  MLRankRange rankRange;
};
dictionary MLOpSupportLimits {
  MLInputOperandLayout preferredInputLayout;
  double maxTensorByteLength;
  MLTensorLimits input;
  MLTensorLimits constant;
  MLTensorLimits output;
};
[Legacy] dictionary MLComputeResult {
  record<DOMString, ArrayBufferView> inputs;
  record<DOMString, ArrayBufferView> outputs;
};

interface ML {
  Promise<MLContext> createContext(GPUDevice gpuDevice);
  Promise<MLContext> createContext(optional MLContextOptions options = {});
};

interface MLContext {
  readonly attribute boolean accelerated;
  readonly attribute Promise<MLContextLostInfo> lost;
  MLOpSupportLimits opSupportLimits();
  Promise<MLTensor> createTensor(MLTensorDescriptor descriptor);
  Promise<MLTensor> createConstantTensor(MLOperandDescriptor descriptor, AllowSharedBufferSource inputData);
  Promise<ArrayBuffer> readTensor(MLTensor tensor);
  Promise<undefined> readTensor(MLTensor tensor, AllowSharedBufferSource outputData);
  undefined writeTensor(MLTensor tensor, AllowSharedBufferSource inputData);
  undefined dispatch(MLGraph graph, record<USVString, MLTensor> inputs, record<USVString, MLTensor> outputs);
  [Legacy] Promise<MLComputeResult> compute(MLGraph graph, record<DOMString, ArrayBufferView> inputs,
                                            record<DOMString, ArrayBufferView> outputs);
  undefined destroy();
};

interface MLGraph {
  [Modern] readonly attribute FrozenArray<DOMString> devices;
  [Draft] record<DOMString, sequence<unsigned long>> computeShapes(
      record<DOMString, sequence<[EnforceRange] unsigned long>> inputShapes);
  undefined destroy();
};

interface MLOperand {
  [Modern] readonly attribute MLOperandDataType dataType;
  [Draft] readonly attribute FrozenArray<MLDimension> shape;
  [Static, Modern] readonly attribute FrozenArray<unsigned long> shape;
  [Legacy] MLOperandDataType dataType();
  [Legacy] sequence<unsigned long> shape();
};

interface MLActivation {
};

interface MLTensor {
  readonly attribute MLOperandDataType dataType;
  readonly attribute FrozenArray<unsigned long> shape;
  readonly attribute boolean readable;
  readonly attribute boolean writable;
  readonly attribute boolean constant;
  undefined destroy();
};

interface MLGraphBuilder {
  constructor(MLContext context);
  MLOperand input(USVString name, MLInputOperandDescriptor descriptor);
  MLOperand constant(MLOperandDescriptor descriptor, AllowSharedBufferSource buffer);
  MLOperand constant(MLOperandDataType type, MLNumber value);
  [Legacy] MLOperand constant(MLNumber value, optional MLOperandDataType type = "float32");
  [Legacy] MLOperand constant(MLNumber start, MLNumber end, MLNumber step,
                              optional MLOperandDataType type = "float32");
  [Draft] MLOperand constant(MLTensor tensor);
  Promise<MLGraph> build(record<USVString, MLOperand> outputs);
};
`;
