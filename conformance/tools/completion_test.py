# SPDX-License-Identifier: Apache-2.0
"""Checks the completion of webnn's command line in bash: that it has every command, option and value that the program's
own help and messages name, and no others, and which files it offers.

usage: completion_test.py WEBNN COMPLETION
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

WEBNN, COMPLETION = map(os.path.abspath, sys.argv[1:])
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# As bash calls it; the values of the line and of where it breaks words come from the environment.
SCRIPT = 'source "$SCRIPT"; COMP_WORDBREAKS=$BREAKS COMP_LINE=$LINE COMP_POINT=${#LINE}; _webnn; printf "%s\\n" "${COMPREPLY[@]}"'
BREAKS = " \t\n\"'><=;|&(:"
problems = 0


def check(condition, what):
    global problems
    if not condition:
        problems += 1
        print("FAILED:", what)


def run(*arguments):
    return subprocess.run([WEBNN, *arguments], capture_output=True, text=True, timeout=60, check=False)


def complete(line, folder=None, breaks=" \t\n\"'><;|&("):
    """What is offered for the line, words not being broken at = and : unless that is said."""
    result = subprocess.run(["bash", "--norc", "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False, cwd=folder,
                            env={**os.environ, "SCRIPT": COMPLETION, "LINE": f"{WEBNN} {line}", "BREAKS": breaks})
    check(result.returncode == 0 and not result.stderr, f"{line!r}: {result.returncode} {result.stderr}")
    words = result.stdout.splitlines()
    check(len(words) == len(set(words)), f"{line!r} offers a word twice: {words}")
    return [word for word in words if word]


def expect(line, words, folder=None, breaks=" \t\n\"'><;|&("):
    got = complete(line, folder, breaks)
    check(sorted(got) == sorted(words), f"{line!r} offers {got}, not {words}")


def names(part):
    return re.findall(r"^  (\w+) +\S", run("help").stdout.split(part + ":\n\n")[1].split("\n\n")[0], re.M)


def check_words(commands, topics):
    check(len(commands) >= 5 and "format" in topics, f"{commands} {topics}")
    expect("", commands + ["help"])
    expect("gr", ["graph"])
    expect("--", ["--help", "--version"])
    expect("nothing", [])
    expect("help ", commands + topics)
    expect("help gra", ["graph"])
    expect("help for", ["format"])
    expect("help run ", [])
    expect("graph x > ", [])
    for broken in "", " x", " --backend=", ' "a', " 'a", " a\\":
        complete("nonsense" + broken)
        complete("run" + broken)


def check_options(commands):
    for command in commands:
        # Options of other commands may be named with these commands, and examples have those of other programs.
        text = re.sub(r"webnn \w+ --[\w-]+", "", run("help", command).stdout.split("\nExamples:")[0])
        offered = complete(f"{command} -")
        check({word.rstrip("=") for word in offered} == set(OPTION.findall(text)) | {"--help"}, f"{command} offers {offered} and has {OPTION.findall(text)}")
        for option in offered:
            expect(f"{command} {option}", [other for other in offered if other.startswith(option)] if option[-1] != "=" else complete(f"{command} {option}"))
            # The program reads it, and stumbles over what follows.
            words = [option] if option[-1] != "=" else [option + "1", option + "cpu"]
            for word in words:
                said = run(command, word, "--nonsense").stderr
                check(f"unrecognized option {word}" not in said and "takes no value" not in said, f"{command} has no {option}: {said}")
                check(option[-1] == "=" or not said or "unrecognized option --nonsense" in said, f"{option} of {command}: {said}")


def check_values(commands):
    passes = run("graph", "--passes").stdout.split()
    check("prune" in passes, f"passes: {passes}")
    for command in commands:
        if "--backend=" in complete(f"{command} --b"):
            expect(f"{command} --backend=", [f"--backend={name}" for name in ("cpu", "gpu", "dummy")])
            expect(f"{command} --backend=", ["cpu", "gpu", "dummy"], breaks=BREAKS)
            expect(f"{command} --backend d", ["dummy"])
    expect("graph --after=", ["--after=" + name for name in ["all", *passes]])
    expect("graph --without-pass ", passes)
    expect("graph --without-pass=fuse_ac", ["fuse_activations"], breaks=BREAKS)
    # The messages about a value that there is none of name those that there are.
    for command, option, expected in (("graph", "format", ["text", "dot", "svg", "png"]), ("ops", "format", ["text", "markdown", "json"]),
                                      ("graph", "emit", ["webnn"]), ("run", "layout", ["nchw", "nhwc"]), ("compare", "nodes", ["all"]),
                                      ("convert", "weights", ["float16", "int8", "int8:", "uint4", "uint4:"])):
        said = run(command, f"--{option}=nonsense", "a", "b").stderr
        values = [value.replace("BLOCK", "") for value in re.split(", | or ", re.search(r"expected ([^;\n]*)", said)[1]) if value != "or nothing"]
        check(values == expected, f"values of --{option}: {said}")
        expect(f"{command} --{option}=", [f"--{option}={value}" for value in expected])
    expect("bench --type=", ["--type=float32", "--type=float16"])
    for option, values in (("after", ["all", *passes]), ("without-pass", passes), ("type", ["float32", "float16"])):
        for value in values:
            said = run("bench" if option == "type" else "graph", f"--{option}={value}", "--nonsense").stderr
            check("unrecognized option --nonsense" in said, f"--{option}={value}: {said}")
    operators = [line for line in run("ops").stdout.splitlines() if line and line[0] != " "]
    check(len(operators) > 90, f"{len(operators)} operators")
    expect("ops ", operators)
    expect("ops relu conv2", ["conv2d"])


def check_files(folder):
    for name in ("m.webnn", "m.onnx", "m.tflite", "M2.ONNX", "m.safetensors", "m.safetensors.index.json", "x.npy", "i.png", "i.JPG", "t.txt", "l.json",
                 "a b.onnx", "sub/n.onnx", "sub/y.npy"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    models = ["m.webnn", "m.onnx", "m.tflite", "M2.ONNX", "a b.onnx", "sub/"]
    networks = ["mobilenet_v1", "mobilenet_v2", "mobilenet_v2_int8", "resnet50", "bert_layer", "gru", "lstm", "matmul:", "matmul_uint4:", "attention:", "conv2d:",
                "copy:", "chain:"]
    everything = sorted(path.name for path in folder.iterdir() if path.is_file()) + ["sub/"]
    data = ["x.npy", "i.png", "i.JPG", "sub/"]
    for line, words in (("graph ", models + networks), ("info ", models + networks), ("bench gru ", models + networks), ("run ", models + networks),
                        ("graph m.", ["m.webnn", "m.onnx", "m.tflite"]), ("graph --before m.o", ["m.onnx"]),
                        ("graph --backend gpu m.o", ["m.onnx"]), ("graph sub/", ["sub/n.onnx"]), ("graph a\\ ", ["a b.onnx"]),
                        ("graph 'a ", ["a b.onnx"]), ('graph "a ', ["a b.onnx"]), ("run m.onnx ", data), ("run --random m.onnx i", ["i.png", "i.JPG"]),
                        ("run --threads 2 m.onnx x=", ["x=" + name for name in data]), ("run m.onnx a.npy sub/", ["sub/y.npy"]),
                        ("run m.onnx --scale 1 x", ["x.npy"]), ("run --weights=", ["--weights=" + name for name in ("m.safetensors", "m.safetensors.index.json", "sub/")]),
                        ("run --weights m.safetensors.", ["m.safetensors.index.json"]), ("run --labels=t", ["--labels=t.txt"]),
                        ("run --labels ", everything), ("run --expect=", ["--expect=x.npy", "--expect=sub/"]), ("run --cache=", ["--cache=sub/"]),
                        ("run --output=y=x", ["--output=y=x.npy"]), ("run --output=x", ["--output=x.npy"]), ("bench matm", ["matmul:", "matmul_uint4:"]),
                        ("bench mobilenet_v2_", ["mobilenet_v2_int8"]), ("run --threads=", []), ("run --dim=", []),
                        ("compare m.onnx ", models + networks + ["x.npy"]), ("compare m.onnx x", ["x.npy"]), ("compare x", []),
                        ("convert --weights=uint4 m.o", ["m.onnx"]), ("convert --weights-in=", ["--weights-in=" + name for name in (
                            "m.safetensors", "m.safetensors.index.json", "sub/")])):
        expect(line, words, folder)
    expect("run --output=y=sub/", ["sub/n.onnx", "sub/y.npy"], folder, BREAKS)
    expect("run m.onnx x=i", ["i.png", "i.JPG"], folder, BREAKS)
    for network in networks:
        check(network in run("help", "bench").stdout, f"{network} is in the help")


def main():
    with tempfile.TemporaryDirectory() as folder:
        # Files are offered, and other tests make some where they all begin.
        os.chdir(folder)
        commands = names("Commands")
        check_words(commands, names("Topics"))
        check_options(commands)
        check_values(commands)
        check_files(pathlib.Path(folder))
    print(f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
