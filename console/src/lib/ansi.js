// ANSI escape sequences of a program's output, as pieces with class names. Everything else that a
// terminal would obey is left out.
const kNames = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

function apply(style, codes) {
  const next = {...style};
  for (let index = 0; index < codes.length; ++index) {
    const code = codes[index];
    if (code === 0) Object.keys(next).forEach((key) => delete next[key]);
    else if (code === 1) next.weight = "ansi-bold";
    else if (code === 2) next.weight = "ansi-faint";
    else if (code === 3) next.slant = "ansi-italic";
    else if (code === 4) next.line = "ansi-underline";
    else if (code === 22) delete next.weight;
    else if (code === 23) delete next.slant;
    else if (code === 24) delete next.line;
    else if (code >= 30 && code <= 37) next.color = "ansi-" + kNames[code - 30];
    else if (code >= 90 && code <= 97) next.color = "ansi-" + kNames[code - 90];
    else if (code === 39) delete next.color;
    // 256 and true colours would need a style of their own: the text keeps the colour of the page.
    else if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4;
  }
  return next;
}

/// [{text, className}] of one line; `style` is what the line before ended with.
export function parseAnsi(line, style = {}) {
  const pieces = [];
  let at = 0;
  // Colours; other control sequences; titles and links; what else begins with ESC; control characters.
  const pattern =
    /\x1b\[([0-9;]*)m|\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?|[\x00-\x08\x0b-\x1f\x7f]/g;
  const push = (text) => text && pieces.push({text, className: Object.values(style).join(" ")});
  for (let match = pattern.exec(line); match; match = pattern.exec(line)) {
    push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[1] !== undefined) style = apply(style, (match[1] || "0").split(";").map(Number));
  }
  push(line.slice(at));
  return {pieces, style};
}

export const withoutAnsi = (text) =>
  parseAnsi(text)
    .pieces.map((piece) => piece.text)
    .join("");
