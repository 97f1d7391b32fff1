// The words of a CUDA program, for its colours; each line by itself, but for comments that go on.

const WORDS = new Set(`
  alignas auto bool break case char class const constexpr continue default delete do double else enum
  extern false float for goto if inline int long namespace new nullptr operator private public
  reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template
  this true typedef typename union unsigned using void volatile while __global__ __device__ __host__
  __shared__ __constant__ __restrict__ __launch_bounds__ __forceinline__`.trim()
                          .split(/\s+/));
const TOKEN =
    /\/\/.*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[A-Za-z_]\w*|\.?\d[\w.']*|\s+|./g;
const LONGEST = 100_000;

/** A piece of a line: c comment, k keyword, m number, p preprocessor, s text; empty for all else. */
export type Piece = [kind: string, text: string];

/** The pieces of each line. */
export function coloured(text: string): Piece[][] {
  const lines: Piece[][] = [[]];
  const add = (kind: string, word: string): void => word.split("\n").forEach((piece, at) => {
    if (at) lines.push([]);
    const line = lines[lines.length - 1], last = line[line.length - 1];
    // Neighbours of a kind are one piece: what is cut between them may be the halves of one character.
    if (piece && last?.[0] === kind)
      last[1] += piece;
    else if (piece)
      line.push([kind, piece]);
  });
  if (text.length > LONGEST)
    add("", text);
  else
    for (const [word] of text.matchAll(TOKEN)) add(kindOf(word, lines[lines.length - 1]), word);
  if (lines.length > 1 && !lines[lines.length - 1].length) lines.pop();
  return lines;
}

function kindOf(word: string, line: Piece[]): string {
  if (word.startsWith("//") || word.startsWith("/*")) return "c";
  if (line.some(([kind]) => kind === "p") || (word === "#" && line.every(([, piece]) => !piece.trim()))) return "p";
  if (word[0] === "\"" || word[0] === "'") return "s";
  if (/^\.?\d/.test(word)) return "m";
  return WORDS.has(word) ? "k" : "";
}
