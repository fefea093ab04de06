# SPDX-License-Identifier: Apache-2.0
#
# Completion of the command line of webnn in bash. The program is asked for its commands, options, passes, operators and
# built-in networks, so that they are those of the version that is there.

# Splits the line into `words` without their quotes. The last one, which may be empty, is the one to be completed.
_webnn_split()
{
    local line=$1 word='' quote='' begun='' char i
    words=()
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $char == \\ && $quote != \' ]]; then
            ((++i))
            word+=${line:i:1}
            begun=1
        elif [[ $quote ]]; then
            [[ $char == "$quote" ]] && quote='' || word+=$char
        elif [[ $char == [\'\"] ]]; then
            quote=$char
            begun=1
        elif [[ $char == [[:space:]] ]]; then
            [[ $begun ]] && words+=("$word")
            word=''
            begun=''
        else
            word+=$char
            begun=1
        fi
    done
    words+=("$word")
}

# Adds the words behind $2 that begin with $2; what stands before them in the word, $1, is put in front.
_webnn_add()
{
    local front=$1 begin=$2 word
    shift 2
    for word; do
        [[ $word == "$begin"* ]] && COMPREPLY+=("$front$word")
    done
}

# The same of the lines that a command behind $2 prints.
_webnn_add_lines()
{
    local front=$1 begin=$2 line
    shift 2
    while IFS= read -r line; do
        _webnn_add "$front" "$begin" "$line"
    done < <("$@" 2>/dev/null)
}

# The same of files, of the endings behind $2, or of all if there are none, and of folders.
_webnn_add_files()
{
    local front=$1 begin=$2 path ending
    shift 2
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        if [[ -d ${path/#~\//$HOME/} ]]; then
            COMPREPLY+=("$front$path/")
            continue
        fi
        (($# == 0)) && COMPREPLY+=("$front$path")
        for ending; do
            [[ ${path,,} == *"$ending" ]] && COMPREPLY+=("$front$path")
        done
    done < <(compgen -f -- "$begin")
}

# The names of a part of the overview, "Commands" or "Topics".
_webnn_names()
{
    local line part=''
    while IFS= read -r line; do
        [[ $line == [^\ ]* ]] && part=${line%:}
        [[ $part == "$1" && $line =~ ^\ \ ([a-z]+)\ +[^\ ] ]] && printf '%s\n' "${BASH_REMATCH[1]}"
    done < <("$program" help 2>/dev/null)
}

# Reads what lines of the command's help begin with: into `takes` what the value of an option is called, nothing for those
# without one, and into `alone` which options may stand without a value.
_webnn_read_options()
{
    local line
    takes=([--help]='')
    alone=([--help]=1)
    while IFS= read -r line && [[ $line != Examples:* ]]; do
        [[ $line == '  --'* ]] || continue
        line=${line#  }
        while [[ $line =~ ^(--[a-z][a-z-]*)(=[^[:space:]]*)?,?[[:space:]]*(.*)$ ]]; do
            if [[ ${BASH_REMATCH[2]} ]]; then
                takes[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]#=}
            else
                takes[${BASH_REMATCH[1]}]+=''
                alone[${BASH_REMATCH[1]}]=1
            fi
            line=${BASH_REMATCH[3]}
        done
    done < <("$program" "$command" --help 2>/dev/null)
}

_webnn_add_options()
{
    local name
    for name in "${!takes[@]}"; do
        [[ ${takes[$name]} ]] && _webnn_add '' "$1" "$name="
        [[ ${alone[$name]-} ]] && _webnn_add '' "$1" "$name"
    done
}

# Values of the option $1 that begin with $3, with $2 in front.
_webnn_add_values()
{
    local option=$1 front=$2 begin=$3 file=''
    # The NAME= before a file stays as it is.
    if [[ ${takes[$option]} == '[NAME=]FILE'* && $begin == *=* ]]; then
        front+=${begin%%=*}=
        begin=${begin#*=}
    fi
    case $command$option in
    *--backend | *--with-backend) _webnn_add "$front" "$begin" cpu gpu dummy ;;
    graph--format) _webnn_add "$front" "$begin" text dot svg png ;;
    ops--format) _webnn_add "$front" "$begin" text markdown json ;;
    graph--emit) _webnn_add "$front" "$begin" webnn ;;
    *--after)
        _webnn_add "$front" "$begin" all
        _webnn_add_lines "$front" "$begin" "$program" graph --passes
        ;;
    *--without-pass) _webnn_add_lines "$front" "$begin" "$program" graph --passes ;;
    *--layout) _webnn_add "$front" "$begin" nchw nhwc ;;
    convert--weights) _webnn_add "$front" "$begin" float16 int8 int8: uint4 uint4: ;;
    compare--nodes) _webnn_add "$front" "$begin" all ;;
    bench--type) _webnn_add "$front" "$begin" float32 float16 ;;
    *) file=${takes[$option]} ;;
    esac
    case $option$file in
    --weights*FILE | --with-weights*FILE) _webnn_add_files "$front" "$begin" .safetensors .safetensors.index.json ;;
    --targetFILE) _webnn_add_files "$front" "$begin" .json .wnnc ;;
    --expectFILE) _webnn_add_files "$front" "$begin" .npy ;;
    *FILE) _webnn_add_files "$front" "$begin" ;;
    *DIR) _webnn_add_files "$front" "$begin" / ;;
    esac
}

# Built-in networks: the first words of lines in the part of the help that says what a GRAPH is, "gru, lstm" or "matmul:MxKxN".
_webnn_networks()
{
    local line
    while IFS= read -r line && [[ $line != '  --'* ]]; do
        [[ $line == '  '* ]] || continue
        line=${line#  }
        while [[ $line =~ ^([a-z][a-z0-9_]*)(:?)[^[:space:],]*(,\ |\ )(.*)$ ]]; do
            printf '%s\n' "${BASH_REMATCH[1]}${BASH_REMATCH[2]}"
            [[ ${BASH_REMATCH[3]} == ' ' ]] && break
            line=${BASH_REMATCH[4]}
        done
    done < <("$program" help bench 2>/dev/null)
}

_webnn_operators()
{
    local line
    while IFS= read -r line; do
        [[ $line =~ ^[a-z][A-Za-z0-9]*$ ]] && printf '%s\n' "$line"
    done < <("$program" ops 2>/dev/null)
}

# What stands without a dash: $1 counts from 0.
_webnn_add_arguments()
{
    local at=$1 begin=$2 front='' arrays=()
    if [[ $command == ops ]]; then
        _webnn_add_lines '' "$begin" _webnn_operators
    elif [[ $command == run && $at -gt 0 ]]; then
        if [[ $begin == *=* ]]; then
            front=${begin%%=*}=
            begin=${begin#*=}
        fi
        _webnn_add_files "$front" "$begin" .png .jpg .jpeg .pgm .ppm .npy .npz .pb .bin .raw
    else
        [[ $begin == */* ]] || _webnn_add_lines '' "$begin" _webnn_networks
        # What a graph is compared with may be arrays, too.
        [[ $command == compare && $at -gt 0 ]] && arrays=(.npy .npz .pb)
        [[ $command == run || $command == bench || $command == info || $command == compile ]] && arrays=(.wnnc)
        _webnn_add_files '' "$begin" .webnn .onnx .tflite "${arrays[@]}"
    fi
}

# What belongs to a command: an option, the value of one, or an argument.
_webnn_complete_command()
{
    local -A takes alone
    local current=${words[-1]} word i positions=0 wanted=''
    _webnn_read_options
    for ((i = 2; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $wanted ]]; then
            wanted=''
        elif [[ $word == --?* ]]; then
            [[ ${takes[$word]-} && ! ${alone[$word]-} ]] && wanted=$word
        elif [[ $word != -* ]]; then
            ((positions++))
        fi
    done
    if [[ $wanted ]]; then
        _webnn_add_values "$wanted" '' "$current"
    elif [[ $current == --*=* ]]; then
        _webnn_add_values "${current%%=*}" "${current%%=*}=" "${current#*=}"
    elif [[ $current == -* ]]; then
        _webnn_add_options "$current"
    else
        _webnn_add_arguments "$positions" "$current"
    fi
}

# Readline replaces only what is behind the last sign at which it breaks words.
_webnn_trim()
{
    local rest=$1 front i
    while [[ $rest =~ ^[^=:]*([=:])(.*)$ ]]; do
        rest=${BASH_REMATCH[2]}
        [[ $COMP_WORDBREAKS == *"${BASH_REMATCH[1]}"* ]] && front=${1%"$rest"}
    done
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"${front-}"}
    done
    # After these signs the word goes on.
    ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=:/] ]] && compopt -o nospace 2>/dev/null
    return 0
}

_webnn()
{
    local words program command
    COMPREPLY=()
    _webnn_split "${COMP_LINE:0:COMP_POINT}"
    program=${words[0]/#~\//$HOME/}
    command=${words[1]-}
    if ((${#words[@]} < 2)) || [[ ${words[-2]} == *[\<\>] ]]; then
        return 0
    elif ((${#words[@]} == 2)); then
        _webnn_add '' "$command" help
        _webnn_add_lines '' "$command" _webnn_names Commands
        [[ $command == -* ]] && _webnn_add '' "$command" --help --version
    elif [[ $command == help || $command == --help ]]; then
        ((${#words[@]} > 3)) && return 0
        _webnn_add_lines '' "${words[2]}" _webnn_names Commands
        _webnn_add_lines '' "${words[2]}" _webnn_names Topics
    else
        _webnn_complete_command
    fi
    _webnn_trim "${words[-1]}"
}

complete -o bashdefault -o default -F _webnn webnn
