// SPDX-License-Identifier: Apache-2.0
//
// <webnn/serialize.h> compiles alone, as C and as C++, and each of its INIT macros initializes its struct.

#include <webnn/serialize.h>

int main(void)
{
    const WNNConstantReference v0 = WNN_CONSTANT_REFERENCE_INIT;
    const WNNSerializeDescriptor v1 = WNN_SERIALIZE_DESCRIPTOR_INIT;
    const WNNDeserializeDescriptor v2 = WNN_DESERIALIZE_DESCRIPTOR_INIT;
    const WNNDeserializedGraph v3 = WNN_DESERIALIZED_GRAPH_INIT;
    const WNNNamedBytes v4 = WNN_NAMED_BYTES_INIT;
    return !(v4.chain.sType == WNNSType_NamedBytes && v4.reference.form == WNNConstantForm_Value &&
             v0.form == WNNConstantForm_Value && !v1.write && !v2.find && !v3.outputs);
}
