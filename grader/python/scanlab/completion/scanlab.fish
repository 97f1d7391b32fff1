# Completes grader/scanlab in fish: grader/scanlab completion fish | source
function __scanlab_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $before[1])
    $program completion fish --answer (count $before) $before "$current" 2>/dev/null </dev/null \
        | while read -l -d \t kind value help
        switch $kind
            case word
                printf '%s\t%s\n' $value $help
            case file
                __fish_complete_path $current
        end
    end
end
complete --command scanlab --no-files --keep-order --arguments '(__scanlab_complete)'
