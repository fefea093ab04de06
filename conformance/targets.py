#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles graphs for described CPUs, on several CPUs, and runs them on those that they are for.

Usage: targets.py WEBNN RUNNER EMULATOR OPTIONS... FOLDER

WEBNN is the program, RUNNER is webnn-conformance, which gets the options and the folder of vectors. The processor is this
one, and those that qemu-user plays. What is compiled for a target has the same bytes on each of them, and on the processor
that it is for they are those that are compiled there without a description. That one runs them, and the numbers are right.
Once more with constants instead of inputs, so that all operators are computed by who compiles. Networks likewise.
"""
import filecmp
import json
import os
import subprocess
import sys
import tempfile

webnn, runner, emulator = sys.argv[1:4]
options = sys.argv[4:]

# What the emulator plays: without what it warns that it lacks.
PLAYED = {'portable': 'Nehalem', 'AVX2': 'Haswell-noTSX,-pcid,-x2apic,-tsc-deadline,-invpcid'}
# None of them has these.
OTHERS = ['AVX2 AVX-VNNI', 'AVX-512', 'AVX-512 AVX-512-VNNI']

NETWORKS = ['mobilenet_v2', 'mobilenet_v2_int8', 'gru', 'lstm']

# A driver of Vulkan that compiles for the processor would not find what it asks it for.
ENVIRONMENT = {}, {'WNN_EMULATED': '1', 'VK_DRIVER_FILES': '/dev/null', 'VK_ICD_FILENAMES': '/dev/null'}

failures = 0


def run(cpu, *command):
    """What the command prints, on a CPU of the emulator or, without one, on this."""
    before = [] if cpu is None else [emulator, '-cpu', cpu]
    done = subprocess.run([*before, *command], env=dict(os.environ, **ENVIRONMENT[cpu is not None]),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout[-3000:])
        sys.exit(f'targets.py: {" ".join(command)} on {cpu or "this processor"} ended with {done.returncode}')
    return done.stdout


def check(right, what):
    global failures
    if not right:
        print('FAILED:', what)
        failures += 1


def target_of(cpu):
    devices = json.loads(run(cpu, webnn, 'info', '--json').splitlines()[-1])['devices']
    return next(device['target']['target'] for device in devices if device['type'] == 'cpu')


def compile_all(folder, cpu, target, *more):
    """The name of a file with all graphs."""
    name = os.path.join(folder, f'{len(os.listdir(folder))}.graphs')
    run(cpu, runner, *more, *(['--target=' + target] if target else []), '--save=' + name, *options)
    return name


def compile_network(folder, cpu, network, description):
    name = os.path.join(folder, f'{len(os.listdir(folder))}.wnnc')
    run(cpu, webnn, 'compile', *(['--target=' + description] if description else []), network, name)
    return name


def check_networks(target, native):
    """`native`: the CPU that the target is, or False."""
    with tempfile.TemporaryDirectory() as folder:
        description = os.path.join(folder, 'target.json')
        library = json.loads(run(None, webnn, 'info', '--json').splitlines()[-1])['devices'][0]['target']['library']
        with open(description, 'w') as file:
            json.dump({'library': library, 'backend': 'cpu', 'target': target}, file)
        for network in NETWORKS:
            first = compile_network(folder, None, network, description)
            for cpu in PLAYED.values():
                check(filecmp.cmp(first, compile_network(folder, cpu, network, description), shallow=False),
                      f'{network} for {target}: other bytes when compiled on {cpu}')
            check(native is False or filecmp.cmp(first, compile_network(folder, native, network, None), shallow=False),
                  f'{network} for {target}: other bytes than without a description')
            for name in os.listdir(folder):
                if name.endswith('.wnnc'):
                    os.remove(os.path.join(folder, name))


def main():
    here = target_of(None)
    architecture, instructions = here.split(', ')[:2]
    edition = here[len(architecture) + len(instructions) + 4:]
    PLAYED.pop(instructions, None)  # which is played less well than it is
    natives = {**PLAYED, instructions: None}
    for own, cpu in PLAYED.items():
        check(target_of(cpu) == f'{architecture}, {own}, {edition}', f'the target of {cpu} is {target_of(cpu)}')
    # What is computed of constants is so whatever the target is.
    for more, names in ([], {*natives, *OTHERS}), (['--constants'], {instructions}):
        for name in sorted(names):
            with tempfile.TemporaryDirectory() as folder:
                target = f'{architecture}, {name}, {edition}'
                first = compile_all(folder, None, target, *more)
                for cpu in PLAYED.values():
                    check(filecmp.cmp(first, compile_all(folder, cpu, target, *more), shallow=False),
                          f'{name} {more}: other bytes when compiled on {cpu}')
                if name not in natives:
                    continue
                check(filecmp.cmp(first, compile_all(folder, natives[name], None, *more), shallow=False),
                      f'{name} {more}: other bytes than without a description')
                print(name, *more, run(natives[name], runner, *more, '--load=' + first, *options).splitlines()[-1])
    for name in sorted({*natives, *OTHERS}):
        check_networks(f'{architecture}, {name}, {edition}', natives.get(name, False))
    return failures > 0


sys.exit(main())
