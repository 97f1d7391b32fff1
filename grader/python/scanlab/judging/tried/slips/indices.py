"""Which index is meant: of the section or of the whole array, the one that is compared, a neighbour's at a stride."""

import re
from collections.abc import Iterator

from scanlab.judging.tried.slips.program import Edit, Program, Rule, compiled, rewrite

OF_THE_SECTION = re.compile(r"\bint\s+(\w{1,40})\s*=\s*threadIdx\.x\s*[;,]")
OF_THE_ARRAY = re.compile(
    r"\bint\s+(\w{1,40})\s*=\s*(?=[^;]*\bblockIdx\.x\b)(?=[^;]*\+[^;]*\b(?:threadIdx\.x|t|tid)\b|[^;]*\b(?:threadIdx\.x|t|tid)\s*\+)[^;]{1,100};"
)
SECTION_BEGINS = re.compile(r"\bint\s+(\w{1,40})\s*=\s*(?=[^;]*\bblockIdx\.x\b)(?![^;]*\+)[^;]{1,100};")
CONDITION = compiled(r"\b(?:if|while|for)\s*(<GROUP>)|=\s*([^;?=]{1,80}?(?:[<>]=?|[=!]=)[^;?]{1,80})(?=[;?])")
INDEX = re.compile(r"\[\s*([A-Za-z_]\w{0,40})\s*(?:\+\s*([A-Za-z_]\w{0,40})\s*)?\]")
COMPARED = re.compile(r"(?<![\w.\[])([A-Za-z_]\w{0,40})(?=\s*[<>]=?(?!=))")
GROWS = re.compile(
    r"(?<![\w.])(\w{1,40})\s*(?:[*/]=\s*2|(?:<<|>>)=\s*1|=\s*\w+\s*(?:[*/]\s*2|<<\s*1|>>\s*1)|\+=\s*\1\b)"
)
NEIGHBOUR = re.compile(r"(?:=|\[)\s*\w{1,40}\s*-\s*(1)\s*(?=[;\]])")
OWN_SECTION = re.compile(
    r"\bint\s+(?!\w*(?:section|tile)\w*\s*=)\w{1,40}\s*=\s*((?:blockIdx\.x|\w*[sS]ection\w*|\w*[tT]ile\w*)(?:\s*\+\s*\w{1,40}(?:\.x)?)?)\s*;"
)
WHOSE = re.compile(r"\bint\s+\w*(?:section|tile)\w*\s*=\s*([^;]{0,60}\bblockIdx\.x\b[^;]{0,60}?)\s*;")


def _another_is_compared(program: Program) -> Iterator[Edit]:
    """Find a loop or a guard that asks for another index than that with which an array's end is passed."""
    for number, code in program.involved():
        indices = dict.fromkeys((base, f"{base} + {more}" if more else base) for base, more in INDEX.findall(code))
        lines = [line for line in program.enclosing(number) if line in program.numbers]
        for (base, index), line in ((one, line) for one in indices for line in lines):
            for condition in CONDITION.finditer(program.code(line)):
                for found in COMPARED.finditer(condition[0]):
                    is_meant = (
                        found[1] in index.split(" + ")
                        if index != base
                        else not re.search(rf"\b{base}\s*[<>]", condition[0])
                    )
                    is_counted = re.search(rf"\bint\s+{found[1]}\s*=", program.code(line))
                    if is_meant and not found[1].isupper() and not is_counted:
                        at = condition.start() + found.start()
                        because = f"{found[1]} is compared here, and the index is {index}"
                        yield Edit(line, at, at + len(found[1]), index, because, is_sure=True)


def _place_in_the_array(program: Program) -> Iterator[Edit]:
    """Find a comparison that asks for a place in the whole array where that in the section is meant."""
    own = set(OF_THE_SECTION.findall(program.whole))
    of_array, begins = set(OF_THE_ARRAY.findall(program.whole)), set(SECTION_BEGINS.findall(program.whole))
    for number, condition in program.matches(CONDITION):
        text, around = condition[0], program.around(number)
        for name in own:
            if not re.search(rf"\b{name}\b", around):
                continue
            because = f"a block begins at its own first place: {name} is the place in the section"
            for other in of_array:
                for found in re.finditer(
                    rf"(?<![\w.\[]){other}(?=\s*(?:[-+]\s*\w{{1,40}}\s*)?(?:[<>]=?|[=!]=)(?!\s*n\b))", text
                ):
                    at = condition.start() + found.start()
                    yield Edit(number, at, at + len(other), name, because)
            for begin in begins:
                for found in re.finditer(rf"\b{begin}\s*\+\s*(?={name}\s*(?:[<>]=?|[=!]=)(?!\s*n\b))", text):
                    at = condition.start()
                    yield Edit(number, at + found.start(), at + found.end(), "", because)


def _neighbours(program: Program) -> Iterator[Edit]:
    """Find the direct neighbour in a step in which that at a stride is meant."""
    for number, found in program.matches(NEIGHBOUR):
        for _, codes in program.loops_around(number):
            for stride in dict.fromkeys(GROWS.findall("\n".join(codes.values()))):
                for meant in (stride, f"{stride} / 2"):
                    because = f"in a step with {stride} the other element is not the direct neighbour"
                    yield Edit(number, *found.span(1), meant, because)


def _own_section(program: Program) -> Iterator[Edit]:
    """Find a list of later sections that begins with the block's own."""
    for number, found in program.matches(OWN_SECTION):
        because = "the first section that needs this block's sum is the one after its own"
        yield Edit(number, *found.span(1), f"{found[1]} + 1", because)


def _whose_section(program: Program) -> Iterator[Edit]:
    """Find a section that is the block's number, in a kernel whose blocks are not as long as sections."""
    for number, found in program.matches(WHOSE):
        around = program.around(number)
        for index in set(OF_THE_ARRAY.findall(around)) if "section_size" in program.whole else ():
            because = (
                f"blocks are not as long as sections here: the section of element {index} is {index} / section_size"
            )
            yield Edit(number, *found.span(1), f"{index} / section_size", because)


RULES = (
    Rule(_another_is_compared, "bounds"),
    Rule(_place_in_the_array, "bounds|wrong|uninitialised", is_common=True),
    Rule(_own_section, r"wrong\.(?:block_sums|sections|other)|bounds|race", is_common=True),
    Rule(_whose_section, "wrong", is_common=True),
    rewrite(
        r"\+=\s*(gridDim\.x(?:\s*\*\s*blockDim\.x)?|blockDim\.x\s*\*\s*gridDim\.x)\s*[;)]",
        "blockDim.x",
        "gridDim.x is the number of blocks: the threads of a block take blockDim.x places at a time",
        "wrong|bounds|race",
        group=1,
    ),
    rewrite(
        r"\((2)(?=u?\s*<<\s*\w{0,20}lane\w{0,20}\s*\)\s*-\s*1)",
        "1",
        "this mask has the lane's own bit as well: those before it are (1u << lane) - 1",
        "wrong|bounds|uninitialised|race",
        group=1,
    ),
    Rule(_neighbours, "wrong|bounds|race"),
    rewrite(
        r"(?<![\w.])(\w{1,40})(?=\s*(?:>=?|!=)\s*[01]\s*(?:\?|\)|&&)[^;]{0,60}\[\s*(?!\1\b)(\w{1,40})\s*-\s*1\s*\])",
        r"\2",
        r"the element at \2 - 1 is taken here, which is there where \2 is above 0, and not where \1 is",
        "bounds|wrong|uninitialised",
    ),
)
