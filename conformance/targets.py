#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles graphs for described CPUs, on several CPUs, and runs them on those that they are for.

Usage: targets.py WEBNN RUNNER EMULATOR OPTIONS... FOLDER

WEBNN is the program, RUNNER is webnn-conformance, which gets the options and the folder of vectors. The processor is this
one, those that this one plays (unit/processor.h), and those that qemu-user plays, which takes long: they compile for
this one, and for themselves without a description. What is compiled for a target has the same bytes on each of them, and on the processor that it
is for they are those that are compiled there without a description. That one runs them, and the numbers are right. Once more
with constants instead of inputs, so that all operators are computed by who compiles. Networks likewise.
"""
import collections
import filecmp
import json
import os
import subprocess
import sys
import tempfile

webnn, runner, emulator = sys.argv[1:4]
options = sys.argv[4:]

Processor = collections.namedtuple('Processor', 'name before environment')
THIS = Processor('this processor', [], {})


def emulated(cpu):
    # A driver of Vulkan that compiles for the processor would not find what it asks it for.
    return Processor(cpu, [emulator, '-cpu', cpu], {'VK_DRIVER_FILES': '/dev/null', 'VK_ICD_FILENAMES': '/dev/null'})


# By targets: without what the emulator warns that it lacks.
EMULATED = {'portable': emulated('Nehalem'), 'AVX2': emulated('Haswell-noTSX,-pcid,-x2apic,-tsc-deadline,-invpcid')}
# None of them has these.
OTHERS = ['AVX2 AVX-VNNI', 'AVX-512', 'AVX-512 AVX-512-VNNI']

NETWORKS = ['mobilenet_v2', 'mobilenet_v2_int8', 'gru', 'lstm']

failures = 0


def run(processor, *command):
    """What the command prints on the processor."""
    done = subprocess.run([*processor.before, *command], env=dict(os.environ, **processor.environment),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout[-3000:])
        sys.exit(f'targets.py: {" ".join(command)} on {processor.name} ended with {done.returncode}')
    return done.stdout


def check(right, what):
    global failures
    if not right:
        print('FAILED:', what)
        failures += 1


def target_of(processor):
    devices = json.loads(run(processor, webnn, 'info', '--json').splitlines()[-1])['devices']
    return next(device['target']['target'] for device in devices if device['type'] == 'cpu')


def compile_all(folder, processor, target, *more):
    """The name of a file with all graphs."""
    name = os.path.join(folder, f'{len(os.listdir(folder))}.graphs')
    run(processor, runner, *more, *(['--target=' + target] if target else []), '--save=' + name, *options)
    return name


def compile_network(folder, processor, network, description):
    name = os.path.join(folder, f'{len(os.listdir(folder))}.wnnc')
    run(processor, webnn, 'compile', *(['--target=' + description] if description else []), network, name)
    return name


def check_networks(target, processors, native):
    """`native`: the processor that the target is, or None."""
    with tempfile.TemporaryDirectory() as folder:
        description = os.path.join(folder, 'target.json')
        library = json.loads(run(THIS, webnn, 'info', '--json').splitlines()[-1])['devices'][0]['target']['library']
        with open(description, 'w') as file:
            json.dump({'library': library, 'backend': 'cpu', 'target': target}, file)
        for network in NETWORKS:
            first = compile_network(folder, THIS, network, description)
            for processor in processors:
                check(filecmp.cmp(first, compile_network(folder, processor, network, description), shallow=False),
                      f'{network} for {target}: other bytes when compiled on {processor.name}')
            check(not native or filecmp.cmp(first, compile_network(folder, native, network, None), shallow=False),
                  f'{network} for {target}: other bytes than without a description')
            for name in os.listdir(folder):
                if name.endswith('.wnnc'):
                    os.remove(os.path.join(folder, name))


def check_vectors(name, target, processors, native, *more):
    with tempfile.TemporaryDirectory() as folder:
        first = compile_all(folder, THIS, target, *more)
        for processor in processors:
            check(filecmp.cmp(first, compile_all(folder, processor, target, *more), shallow=False),
                  f'{name} {more}: other bytes when compiled on {processor.name}')
        if native:
            check(filecmp.cmp(first, compile_all(folder, native, None, *more), shallow=False),
                  f'{name} {more}: other bytes than without a description')
            print(name, *more, run(native, runner, *more, '--load=' + first, *options).splitlines()[-1])


def main():
    here = target_of(THIS)
    architecture, instructions = here.split(', ')[:2]
    edition = here[len(architecture) + len(instructions) + 4:]
    EMULATED.pop(instructions, None)  # which is played less well than it is
    natives = {**EMULATED, instructions: THIS}
    here_too = [Processor(f'this processor as {own}', [], {'WNN_PROCESSOR': own}) for own in EMULATED
                if instructions != 'portable']
    for own, cpu in EMULATED.items():
        check(target_of(cpu) == f'{architecture}, {own}, {edition}', f'the target of {cpu.name} is {target_of(cpu)}')
    for name in sorted({*natives, *OTHERS}):
        target = f'{architecture}, {name}, {edition}'
        native = natives.get(name)
        emulators = [*EMULATED.values()] if name == instructions else []
        check_vectors(name, target, here_too + emulators, native)
        check_networks(target, emulators, native)
        if name == instructions:  # what is computed of constants is so whatever the target is
            check_vectors(name, target, here_too + emulators, native, '--constants')
    return failures > 0


sys.exit(main())
