# Completes grader/scanlab in zsh: source <(grader/scanlab completion zsh)
_scanlab() {
    local kind value help files
    local -a found
    while IFS=$'\t' read -r kind value help; do
        case $kind in
            word) found+=("${value//:/\\:}${help:+:$help}") ;;
            file) files=1 ;;
        esac
    done < <("${${(Q)words[1]}/#\~/$HOME}" completion zsh --answer $((CURRENT - 1)) "${(@Q)words}" 2>/dev/null </dev/null)
    (( $#found )) && _describe -V scanlab found
    [[ -n $files ]] && _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _scanlab scanlab
