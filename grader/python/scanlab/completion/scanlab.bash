# Completes grader/scanlab in bash 4.4 or newer: source <(grader/scanlab completion bash)
_scanlab() {
    local kind value
    COMPREPLY=()
    # The program as it is typed: bash takes this function for every program called scanlab.
    while IFS=$'\t' read -r kind value _; do
        case $kind in
            word) COMPREPLY+=("$value") ;;
            file)
                compopt -o filenames 2>/dev/null
                while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$2")
                ;;
        esac
    done < <("${1/#\~/$HOME}" completion bash --answer "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null </dev/null)
}
complete -o nosort -F _scanlab scanlab
