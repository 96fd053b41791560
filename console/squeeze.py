"""Takes out of our JavaScript what means nothing: comments that fill lines, indentation, and white
space between tokens. Texts in quotes stay as they are; texts in backticks lose indentation and ends of
lines between tags, as those of ours that span lines are markup."""

import re

# After these, a slash begins a regular expression and not a division.
BEFORE_REGEX = "(,=:[!&|?{};+-*%~^<>"
CLOSES = {"(": ")", "[": "]", "{": "}"}


def is_word(letter):
    return letter.isalnum() or letter in "_$" or ord(letter) > 127


def end_of_string(text, at):
    """The place after the string that begins at `at`."""
    quote = text[at]
    at += 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def end_of_regex(text, at):
    in_class = False
    at += 1
    while text[at] != "/" or in_class:
        if text[at] == "\\":
            at += 1
        elif text[at] in "[]":
            in_class = text[at] == "["
        at += 1
    return at + 1


class Squeezer:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.out = []

    def last(self):
        return self.out[-1][-1] if self.out else "\n"

    def take(self, end):
        self.out.append(self.text[self.at : end])
        self.at = end

    def template(self):
        """A text in backticks; in its ${} is code again."""
        self.take(self.at + 1)
        while self.text[self.at] != "`":
            if self.text.startswith("${", self.at):
                self.take(self.at + 2)
                self.code("}")
            elif self.text[self.at] == "\n" and self.is_between_tags():
                self.at += 1
            else:
                self.take(self.at + (2 if self.text[self.at] == "\\" else 1))
        self.take(self.at + 1)

    def is_between_tags(self):
        """Whether the end of a line means nothing in markup: not so between attributes."""
        is_before_tag = self.text.startswith("<", self.at + 1)
        is_before_value = self.text.startswith("${", self.at + 1)
        return self.last() == ">" and (is_before_tag or is_before_value) or self.last() == "}" and is_before_tag

    def space(self):
        """White space in code: what of it must stay?"""
        end = self.at
        while end < len(self.text) and self.text[end] in " \n":
            end += 1
        gap = self.text[self.at : end]
        self.at = end
        before = self.last()
        after = self.text[end] if end < len(self.text) else ""
        if "\n" in gap and before not in ",{([;>?:&|=" and after not in ")]}.?:&|" and after:
            self.out.append("\n")
        elif after and (is_word(before) and is_word(after) or before == after and before in "+-"):
            self.out.append(" ")

    def code(self, closing=None):
        """Up to the bracket `closing`, or to the end."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == closing:
                return self.take(self.at + 1)
            if letter in CLOSES:
                self.take(self.at + 1)
                self.code(CLOSES[letter])
            elif letter in "\"'":
                self.take(end_of_string(self.text, self.at))
            elif letter == "`":
                self.template()
            elif self.text.startswith("//", self.at):
                self.at = self.text.find("\n", self.at)
            elif letter == "/" and (
                self.last() in BEFORE_REGEX or re.search(r"\breturn$", "".join(self.out[-8:]))
            ):
                self.take(end_of_regex(self.text, self.at))
            elif letter in " \n":
                self.space()
            else:
                self.take(self.at + 1)


def squeezed(text):
    text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ +", "", text, flags=re.MULTILINE)
    squeezer = Squeezer(text)
    squeezer.code()
    return "".join(squeezer.out)
