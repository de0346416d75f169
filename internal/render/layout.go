package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text of a trace safe for a terminal: one line, no control characters, no invisible direction marks.
func Clean(text string) string {
	ok := true
	for _, r := range text {
		if !printable(r) {
			ok = false
			break
		}
	}
	if ok {
		return text
	}
	return strings.Map(func(r rune) rune {
		if printable(r) {
			return r
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return -1
	}, text)
}

func printable(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }

// width is the number of columns a text takes.
func width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// runeWidth: East Asian wide characters and pictographs take two columns, combining marks none.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff,
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// fit cuts a text to so many columns, with an ellipsis where something is missing.
func fit(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	n := 0
	for i, r := range text {
		if n+runeWidth(r) > columns-1 {
			return text[:i] + "…"
		}
		n += runeWidth(r)
	}
	return text
}

// left and right pad a text to so many columns.
func left(text string, columns int) string {
	text = fit(text, columns)
	return text + strings.Repeat(" ", columns-width(text))
}

func right(text string, columns int) string {
	text = fit(text, columns)
	return strings.Repeat(" ", columns-width(text)) + text
}

// wrap breaks a text at spaces into lines of so many columns; a longer word is broken anywhere.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for width(word) > columns {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			head := prefix(word, columns)
			lines = append(lines, head)
			word = word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// prefix is as much of a word as fits, at least one character; it ends behind a separator if there is one in its second
// half.
func prefix(word string, columns int) string {
	n, at := 0, len(word)
	for i, r := range word {
		if i > 0 && n+runeWidth(r) > columns {
			at = i
			break
		}
		n += runeWidth(r)
	}
	if at == len(word) {
		return word
	}
	if cut := strings.LastIndexAny(word[:at], "/._-:"); cut >= at/2 {
		return word[:cut+1]
	}
	return word[:at]
}
