package engine

import "strings"

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // identifier or keyword without quotes, also a number
	tokenQuoted           // string, quoted identifier or heredoc
	tokenMark             // one character of punctuation
)

type token struct {
	kind       tokenKind
	text       string
	start, end int // offsets in the statement
}

func (t token) is(mark string) bool { return t.kind == tokenMark && t.text == mark }

func (t token) word(keyword string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, keyword)
}

// lexer cuts a statement into tokens by the rules of ClickHouse, skipping space and comments.
type lexer struct {
	text string
	at   int
}

func (l *lexer) next() token {
	l.skipSpace()
	start := l.at
	if start >= len(l.text) {
		return token{kind: tokenEnd, start: start, end: start}
	}
	kind := tokenMark
	switch c := l.text[start]; {
	case c == '\'' || c == '"' || c == '`':
		kind = tokenQuoted
		l.skipQuoted(c)
	case c == '$' && l.skipHeredoc():
		kind = tokenQuoted
	case isWordByte(c):
		kind = tokenWord
		for l.at < len(l.text) && isWordByte(l.text[l.at]) {
			l.at++
		}
	default:
		l.at++
	}
	return token{kind: kind, text: l.text[start:l.at], start: start, end: l.at}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (l *lexer) skipSpace() {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f\v\x00", rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "#!"), strings.HasPrefix(rest, "# "):
			l.skipPast("\n", 0)
		case strings.HasPrefix(rest, "/*"):
			l.skipPast("*/", len("/*"))
		default:
			return
		}
	}
}

// skipPast moves behind the next mark, or to the end without one.
func (l *lexer) skipPast(mark string, from int) {
	if i := strings.Index(l.text[l.at+from:], mark); i >= 0 {
		l.at += from + i + len(mark)
		return
	}
	l.at = len(l.text)
}

// skipQuoted moves behind a quoted text: a backslash escapes, a doubled quote stands for one.
func (l *lexer) skipQuoted(quote byte) {
	for l.at++; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case '\\':
			l.at++
		case quote:
			if l.at+1 < len(l.text) && l.text[l.at+1] == quote {
				l.at++
				continue
			}
			l.at++
			return
		}
	}
	l.at = min(l.at, len(l.text))
}

// skipHeredoc moves behind $tag$…$tag$ and tells whether there was one.
func (l *lexer) skipHeredoc() bool {
	rest := l.text[l.at+1:]
	n := 0
	for n < len(rest) && isWordByte(rest[n]) {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		return false
	}
	tag := l.text[l.at : l.at+n+2]
	end := strings.Index(l.text[l.at+len(tag):], tag)
	if end < 0 {
		return false
	}
	l.at += end + 2*len(tag)
	return true
}

// skipInsertTarget moves from INSERT behind the table's name, so that a table called values or format is no keyword. It
// tells whether there was one.
func (l *lexer) skipInsertTarget() bool {
	t := l.next()
	if t.word("INTO") {
		t = l.next()
	}
	if mark := l.at; t.word("TABLE") {
		if t = l.next(); t.word("FUNCTION") {
			t = l.next() // its arguments are in parentheses, which are skipped like any
		} else if t.is("(") || t.is(".") || t.kind == tokenEnd { // a table named table
			l.at = mark
			t = token{kind: tokenWord}
		}
	} else if t.word("FUNCTION") {
		t = l.next()
	}
	for {
		if t.kind != tokenWord && t.kind != tokenQuoted {
			return false
		}
		mark := l.at
		if !l.next().is(".") {
			l.at = mark
			return true
		}
		t = l.next()
	}
}

// formatName reads the name after FORMAT, unless that FORMAT is a column or a function: in a SELECT the clause comes last.
func (l *lexer) formatName(dataFollow bool) (token, bool) {
	mark := l.at
	name := l.next()
	behind := l.at
	if name.kind == tokenWord {
		if after := l.next(); dataFollow || after.kind == tokenEnd || after.is(";") || after.word("SETTINGS") || after.word("INTO") {
			l.at = behind
			return name, true
		}
	}
	l.at = mark
	return token{}, false
}
