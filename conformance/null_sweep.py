# SPDX-License-Identifier: Apache-2.0
"""Writes a C test that calls every exported function with NULL, one pointer at a time.

Usage: null_sweep.py OUTPUT HEADER...

What the functions are, and which of their parameters and members of structs are pointers, handles, lists or strings, is
read from the headers. A function is called once with arguments that are all valid, which has to succeed, and once for each
pointer that it gets, with all others valid. The valid values are members of the fixture in unit/null_fixture.h, chosen by
the tables below: a new function whose arguments they do not fit makes this program or the test fail.
"""
import re
import sys

HANDLES = {'WNNContext': 'f->context', 'WNNGraph': 'f->graph', 'WNNTensor': 'f->tensor',
           'WNNGraphBuilder': 'f->builder', 'WNNOperand': 'f->matrix', 'WNNActivation': 'f->activation',
           'WNNThreadPool': 'f->pool', 'WNNBudget': 'f->budget',
           'WNNSharedWeights': 'f->shared'}

# Valid values by type, and by type and name.
VALUES = {
    'WNNStringView': 'f->name', 'WNNUint32List': 'f->shape', 'WNNNumber': 'f->number',
    'WNNDataType': 'WNNDataType_Float32', 'WNNStatus': 'WNNStatus_Success', 'WNNFuture': 'f->future', 'bool': 'true',
    'WNNBuildCallbackInfo': 'f->build_info', 'WNNRequestCallbackInfo': 'f->request_info',
    'const WNNOperandDescriptor *': '&f->operand_descriptor', 'const WNNContextDescriptor *': '&f->context_descriptor',
    'const WNNTensorDescriptor *': '&f->tensor_descriptor', 'const WNNComputeDescriptor *': '&f->compute',
    'const WNNDispatchDescriptor *': '&f->dispatch', 'const WNNExternalBytes *': '&f->loan',
    'const WNNNamedOperand *': '&f->output', 'const WNNOperand *': '&f->matrix', 'WNNOperand *': 'f->outputs',
    'const WNNThreadPoolDescriptor *': '&f->pool_descriptor', 'WNNThreadPool *': '&f->new_pool',
    'const WNNBudgetDescriptor *': '&f->budget_descriptor', 'WNNBudget *': '&f->new_budget',
    'const WNNSharedWeightsDescriptor *': '&f->shared_descriptor', 'WNNSharedWeights *': '&f->new_shared',
    'WNNResources *': '&f->resources',
    'WNNGraph *': '&f->built', 'char *': 'f->text',
    'WNNContext *': '&f->new_context', 'WNNTensor *': '&f->new_tensor', 'WNNGraphBuilder *': '&f->new_builder',
    'WNNError *': '&f->error', 'WNNLimits *': '&f->limits', 'WNNContextCounters *': '&f->counters',
    'WNNOpSupportLimits *': '&f->support', 'WNNFutureWaitInfo *': '&f->wait', 'WNNDeviceInfo *': 'f->devices',
    'size_t *': '&f->count', 'WNNGraphProfile *': '&f->profile', 'WNNNodeProfile *': 'f->nodes',
    'WNNVulkanHandles *': '&f->handles', 'WNNVulkanBuffer *': '&f->buffer', 'WNNVulkanMemory *': '&f->memory',
    'const WNNOperatorCall *': '&f->call', 'WNNRecordedOperand *': '&f->recorded_operand',
    'WNNRecordedOperator *': '&f->recorded_operator', 'WNNOperatorInfo *': '&f->operator_info',
    'WNNOperandInfo *': '&f->operand_info', 'WNNAttributeInfo *': '&f->attribute_info',
    'const WNNSerializeDescriptor *': '&f->serialize', 'const WNNDeserializeDescriptor *': '&f->deserialize',
    'WNNDeserializedGraph *': '&f->deserialized',
    'const WNNConstantReference *': '&f->reference',
    'const WNNSaveGraphDescriptor *': '&f->save', 'const WNNLoadGraphDescriptor *': '&f->load',
    'WNNCompiledGraphInfo *': '&f->compiled_info', 'WNNTargetInfo *': '&f->target_info',
    'WNNGraphInfo *': '&f->graph_info', 'WNNNodeInfo *': 'f->node_infos',
    'const void *': 'f->floats', 'void *': 'f->floats',
    'WNNSizeOperator': 'WNNSizeOperator_Add', 'WNNDimension *': '&f->dimension',
    'const WNNNamedShape *': '&f->named_shape', 'WNNOutputShape *': '&f->output_shape',
}
NAMED = {'index': '0', 'operatorIndex': '0', 'byteLength': 'sizeof f->floats', 'capacity': '4', 'outputCount': '1', 'inputCount': '1', 'futureCount': '1',
         'timeoutNanoseconds': '0', 'axis': '0', 'splits': '2', 'steps': '2', 'hiddenSize': '2', 'a': '2', 'b': '3', 'size': '4'}

# Where those do not fit: function without its wnnGraphBuilder, parameter.
IMAGES = ['AveragePool2d', 'L2Pool2d', 'MaxPool2d', 'InstanceNormalization', 'Resample2d', 'Resample2dDynamic', 'Conv2d', 'ConvTranspose2d']
SPECIAL = {(op, 'input'): 'f->image' for op in IMAGES}
SPECIAL.update({(op, 'filter'): 'f->filter' for op in ['Conv2d', 'ConvTranspose2d']})
SPECIAL.update({('Logical' + op, name): 'f->bytes' for op in ['Not', 'And', 'Or', 'Xor'] for name in 'ab'})
SPECIAL[('Not', 'a')] = 'f->bytes'
SPECIAL.update({(op, 'indices'): 'f->indices' for op in
                ['Gather', 'GatherElements', 'GatherND', 'ScatterElements', 'ScatterND']})
SPECIAL.update({
    ('BatchNormalization', 'mean'): 'f->vector', ('BatchNormalization', 'variance'): 'f->vector',
    ('ScatterND', 'updates'): 'f->vector', ('Where', 'condition'): 'f->bytes',
    ('DequantizeLinear', 'input'): 'f->bytes', ('DequantizeLinear', 'zeroPoint'): 'f->bytes',
    ('QuantizeLinear', 'zeroPoint'): 'f->bytes', ('SplitSizes', 'splits'): 'f->ones', ('Slice', 'starts'): 'f->zeros',
    ('Gru', 'input'): 'f->sequence', ('Lstm', 'input'): 'f->sequence',
    ('Gru', 'weight'): 'f->weights[0]', ('Gru', 'recurrentWeight'): 'f->weights[0]',
    ('GruCell', 'weight'): 'f->weights[1]', ('GruCell', 'recurrentWeight'): 'f->weights[1]',
    ('Lstm', 'weight'): 'f->weights[2]', ('Lstm', 'recurrentWeight'): 'f->weights[2]',
    ('LstmCell', 'weight'): 'f->weights[3]', ('LstmCell', 'recurrentWeight'): 'f->weights[3]',
    ('Range', 'start'): 'f->numbers[0]', ('Range', 'limit'): 'f->numbers[1]', ('Range', 'delta'): 'f->numbers[0]',
    ('ReshapeDynamic', 'newShape'): 'f->sizes[2]', ('ExpandDynamic', 'newShape'): 'f->sizes[2]',
    ('PadDynamic', 'beginningPadding'): 'f->sizes[1]', ('PadDynamic', 'endingPadding'): 'f->sizes[2]',
    ('SliceDynamic', 'starts'): 'f->sizes[0]', ('SliceDynamic', 'sizes'): 'f->sizes[2]',
    ('SplitDynamic', 'splits'): 'f->sizes[1]', ('TileDynamic', 'repetitions'): 'f->sizes[2]',
    ('Unsqueeze', 'axes'): 'f->axes',
    ('RangeConstant', 'end'): 'wnnNumberInt64(4)', ('TensorConstant', 'tensor'): 'f->constant', ('wnnContextCreateConstantTensor', 'descriptor'): '&f->constant_descriptor',
    ('wnnContextWriteTensor', 'tensor'): 'f->tensor', ('Build', 'outputs'): '&f->output',
    ('CallActivation', 'call'): '&f->activation_call',
    ('wnnGraphComputeShapes', 'outputs'): '&f->output_shape', ('wnnGraphComputeShapes', 'capacity'): 'sizeof f->text',
    ('BuildSync', 'outputs'): '&f->output', ('BuildSync', 'capacity'): 'sizeof f->text',
    ('Serialize', 'capacity'): 'sizeof f->text',
    ('wnnGraphSaveSync', 'capacity'): 'sizeof f->text', ('wnnContextLoadGraphSync', 'capacity'): 'sizeof f->text',
    ('wnnGetCompiledGraphInfo', 'data'): 'f->compiled', ('wnnGetCompiledGraphInfo', 'byteLength'): 'f->load.bytes.byteLength',
    ('wnnContextComputeSync', 'capacity'): 'sizeof f->text', ('wnnContextReadTensorSync', 'capacity'): 'sizeof f->text',
    ('wnnEnumerateDevices', 'capacity'): '2', ('wnnGraphGetProfile', 'capacity'): '2', ('wnnGraphGetNodes', 'capacity'): '2',
})

# Structs whose members are varied too when a value leads to them, and where members lead to.
MEMBERS = {
    ('WNNComputeDescriptor', 'inputs'): ('WNNNamedBuffer', 'f->inputs[0]'),
    ('WNNComputeDescriptor', 'outputs'): ('WNNNamedBuffer', 'f->results[0]'),
    ('WNNDispatchDescriptor', 'inputs'): ('WNNNamedTensor', 'f->input_tensors[0]'),
    ('WNNDispatchDescriptor', 'outputs'): ('WNNNamedTensor', 'f->output_tensors[0]'),
    ('WNNContextDescriptor', 'allocator'): ('WNNAllocator', 'f->allocator'),
    ('WNNThreadPoolDescriptor', 'allocator'): ('WNNAllocator', 'f->allocator'),
    ('WNNContextDescriptor', 'parallelFor'): ('WNNParallelFor', 'f->parallel'),
    ('WNNContextDescriptor', 'cache'): ('WNNCache', 'f->cache'),
    ('WNNContextDescriptor', 'limits'): ('WNNLimits', 'f->limits'),
}

# A CPU context refuses these whatever they get; the future of the fixture is complete.
REFUSED = {'wnnContextCancel', 'wnnContextGetVulkanHandles', 'wnnContextGetVulkanBuffer', 'wnnContextExportVulkanMemory'}
# What may be NULL, beside options.
OPTIONAL = {('wnnCreateSharedWeights', 'descriptor'), ('WNNSharedWeightsDescriptor', 'allocator'),
            ('WNNSharedWeightsDescriptor', 'budget'), ('wnnCreateContext', 'descriptor'), ('wnnCreateThreadPool', 'descriptor'),
            ('WNNThreadPoolDescriptor', 'allocator'), ('WNNContextDescriptor', 'threadPool'),
            ('WNNContextDescriptor', 'budget'),
            ('wnnGraphGetProfile', 'profile'), ('wnnGraphGetProfile', 'nodes'), ('wnnGraphGetProfile', 'count'),
            ('wnnGraphGetNodes', 'nodes'), ('wnnGraphGetNodes', 'count'), ('wnnEnumerateDevices', 'devices'),
            ('wnnEnumerateDevices', 'count'), ('wnnBudgetGetResources', 'now'), ('wnnBudgetGetResources', 'peak'),
            ('wnnGraphBuilderBuildSync', 'message'), ('wnnGraphBuilderSerialize', 'message'), ('wnnContextComputeSync', 'message'),
            ('wnnGraphComputeShapes', 'message'),
            ('wnnContextReadTensorSync', 'message'), ('wnnGraphSaveSync', 'message'), ('wnnContextLoadGraphSync', 'message'),
            ('WNNContextDescriptor', 'allocator'), ('WNNContextDescriptor', 'parallelFor'),
            ('WNNContextDescriptor', 'cache'), ('WNNContextDescriptor', 'limits'), ('WNNExternalBytes', 'release')}
# What one function needs and another has no use for.
SOMETIMES = {('WNNOperatorCall', 'inputs')}
LISTS = {'WNNUint32List', 'WNNFloat32List', 'WNNActivationList'}
CHECKED = {'WNNOperand', 'WNNActivation', 'WNNStatus', 'WNNFuture'}


def without_comments(text):
    return re.sub(r'/\*.*?\*/', '', re.sub(r'//[^\n]*', '', text), flags=re.S)


def split_declarator(text):
    """'const WNNOperand *inputs' becomes ('const WNNOperand *', 'inputs'); an array is a pointer."""
    text = ' '.join(text.split())
    found = re.fullmatch(r'(.*?)\b(\w+)(\[\w*\])?', text)
    kind = found[1].strip() + (' *' if found[3] else '')
    return kind.replace('* *', '**'), found[2]


def parse(text):
    text = without_comments(text)
    functions, structs = [], {}
    for found in re.finditer(r'WNN_EXPORT\s+([^;{]*?)\b(wnn\w+)\s*\(([^;]*)\);', text):
        parameters = [] if found[3].strip() == 'void' else [split_declarator(p) for p in found[3].split(',')]
        functions.append((' '.join(found[1].split()), found[2], parameters))
    for found in re.finditer(r'typedef struct (\w+) \{(.*?)\n\} \1;', text, re.S):
        members = []
        for line in found[2].split(';'):
            line = ' '.join(line.split())
            callback = re.match(r'[^(]*\(\*(\w+)\)\(', line)
            if callback:
                members.append(('callback', callback[1]))
            elif line and '{' not in line and '}' not in line and not re.search(r'\[\d+\]$', line):
                first, *more = line.split(',')
                kind, name = split_declarator(first)
                members.append((kind, name))
                base = kind.rstrip(' *')
                members += [(base + ' *' if '*' in m else base, m.strip(' *')) for m in more]
        structs[found[1]] = members
    defaults = {name.replace('_', '').removesuffix('INIT'): name for name in re.findall(r'#define (WNN_\w+_INIT)\b', text)}
    return functions, structs, defaults


def is_pointer(kind):
    return '*' in kind or kind in HANDLES


def member_variants(structs, struct, path, in_options):
    """(what, statements, expected) for everything in a struct that can be NULL."""
    for kind, name in structs[struct]:
        place = f'{path}.{name}'
        optional = (struct, name) in OPTIONAL
        if (struct, name) in MEMBERS:
            inner, inner_path = MEMBERS[struct, name]
            if optional:
                before = f'{place} = &{inner_path};'
                for what, code, expected in member_variants(structs, inner, inner_path, False):
                    yield f'{name}->{what}', f'{before} {code}', expected
            else:
                yield name, f'{place} = NULL;', False
                for what, code, expected in member_variants(structs, inner, inner_path, False):
                    yield f'{name}[0].{what}', code, expected
        elif kind in LISTS:
            yield name, f'{place}.data = NULL; {place}.count = 2;', False
        elif kind == 'WNNStringView':
            yield name, f'{place} = (WNNStringView){{NULL, 5}};', False
        elif kind == 'callback':
            yield name, f'{place} = NULL;', None if struct != 'WNNAllocator' and struct != 'WNNParallelFor' else False
        elif kind.endswith('Callback'):
            yield name, f'{place} = NULL;', None
        elif is_pointer(kind) and name not in ('nextInChain', 'userdata', 'userdata1', 'userdata2') and not in_options:
            yield name, f'{place} = NULL;', None if (struct, name) in SOMETIMES else optional


def describe(functions, structs, defaults):
    cases = []
    for result, name, parameters in functions:
        short = name.removeprefix('wnnGraphBuilder')
        body, arguments, variants = [], [], []
        for kind, parameter in parameters:
            base = kind.replace('const ', '').rstrip(' *')
            value = SPECIAL.get((short, parameter))
            if value is None and base.endswith('Options') and base in structs:
                default = defaults[base.upper()]
                body.append(f'{base} {parameter} = {default};')
                body.append(f'const {base} *{parameter}_given = &{parameter};')
                variants.append((parameter, f'{parameter}_given = NULL;', True))
                variants += [(f'{parameter}->{what}', code, expected) for what, code, expected in
                             member_variants(structs, base, parameter, True)]
                arguments.append(f'{parameter}_given')
                continue
            if value is None:
                value = HANDLES.get(kind) or NAMED.get(parameter) or VALUES.get(kind)
            if value is None:
                sys.exit(f'null_sweep.py: no value for the parameter {kind} {parameter} of {name}')
            local = f'{parameter}_given'
            if value.startswith('f->') and kind in ('const void *', 'void *') or '*' in kind or kind in HANDLES:
                body.append(f'{kind if kind.endswith("*") else kind + " "}{local} = {value};')
                expected = (name, parameter) in OPTIONAL
                variants.append((parameter, f'{local} = NULL;', expected))
                arguments.append(local)
            else:
                arguments.append(value)
            if value.startswith('&f->') and base in structs and kind.startswith('const '):
                variants += [(f'{parameter}->{what}', code, expected) for what, code, expected in
                             member_variants(structs, base, value[1:], False)]
            elif kind in LISTS:
                variants.append((parameter + '.data', f'{value}.data = NULL;', False))
            elif kind == 'WNNStringView':
                variants.append((parameter + '.data', f'{value} = (WNNStringView){{NULL, 5}};', False))
            elif kind.endswith('CallbackInfo'):
                variants.append((parameter + '.callback', f'{value}.callback = NULL;', None))
        cases.append((result, name, parameters, body, arguments, variants))
    return cases


def write(cases, out):
    out.write('// Made by conformance/null_sweep.py from the headers.\n#include "conformance/unit/null_fixture.h"\n')
    table = []
    for result, name, parameters, body, arguments, variants in cases:
        out.write(f'\nstatic void call_{name}(struct fixture *f, int variant)\n{{\n')
        for line in body:
            out.write(f'    {line}\n')
        out.write('    (void)f;\n    enum expected expected = ' + ('REFUSED' if name in REFUSED else 'ACCEPTED') + ';\n')
        out.write('    switch (variant) {\n')
        table.append((name, 0, 'everything valid'))
        for number, (what, code, expected) in enumerate(variants, 1):
            verdict = {None: 'UNCHECKED', True: 'ACCEPTED', False: 'REFUSED'}[expected]
            if name in REFUSED:
                verdict = 'REFUSED' if expected is False else 'UNCHECKED'
            out.write(f'    case {number}:\n        {code}\n        expected = {verdict};\n        break;\n')
            table.append((name, number, what))
        out.write('    default:\n        break;\n    }\n')
        call = f'{name}({", ".join(arguments)})'
        counted = name.endswith('AddRef') or name.endswith('Release')
        if counted and not name.startswith('wnnGraphBuilder'):
            kind, parameter = parameters[0]
            other = name.replace('AddRef', 'Release') if name.endswith('AddRef') else name.replace('Release', 'AddRef')
            first, second = (call, f'{other}({parameter}_given)') if name.endswith('AddRef') else \
                (f'{other}({parameter}_given)', call)
            out.write(f'    {first};\n    {second};\n    (void)expected;\n')
        elif name == 'wnnGraphBuilderRelease':
            out.write(f'    {call};\n    if (builder_given)\n        f->builder = NULL;\n    (void)expected;\n')
        elif result in CHECKED or (result == 'size_t' and 'outputs' in [p for _, p in parameters]):
            out.write(f'    check_{result}(f, {call}, expected);\n')
        else:
            out.write(f'    {"" if result == "void" else "(void)"}{call};\n    (void)expected;\n')
        out.write('}\n')
    out.write('\nconst struct null_case null_cases[] = {\n')
    for name, number, what in table:
        out.write(f'    {{"{name}", "{what}", call_{name}, {number}}},\n')
    out.write('};\nconst size_t null_case_count = sizeof null_cases / sizeof null_cases[0];\n')


def main():
    texts = []
    for path in sys.argv[2:]:
        with open(path, encoding='utf-8') as header:
            texts.append(header.read())
    functions, structs, defaults = parse('\n'.join(texts))
    exported = len(re.findall(r'\bWNN_EXPORT\s+(?!__)\w', without_comments('\n'.join(texts))))
    if len(functions) != exported:
        sys.exit(f'null_sweep.py: {exported} functions are exported; {len(functions)} were understood')
    with open(sys.argv[1], 'w', encoding='utf-8') as out:
        write(describe(functions, structs, defaults), out)


main()
