package engine

import (
	"strings"
)

// statement is what the server has to know of a statement before the engine sees it.
type statement struct {
	text    string
	verb    string // first word, in capitals; "(" for a SELECT in parentheses; "" for nothing but comments
	format  string // of the FORMAT clause; "" without one
	many    bool   // further statements follow a semicolon
	outfile bool   // has INTO OUTFILE or FROM INFILE, which would reach files of the server
	totals  bool   // has WITH TOTALS, whose row comes in a block of its own

	// For an INSERT whose data come after the statement (VALUES or FORMAT): where the data start, and where a clause that
	// names their source has to go. Both -1 for any other.
	dataAt, sourceAt int
	values           bool // ends in VALUES
	bare             bool // ends in neither VALUES nor FORMAT
	input            bool // reads its data by the function input()
}

// streamable are verbs whose results come in blocks.
func (s *statement) streamable() bool {
	return s.verb == "SELECT" || s.verb == "WITH" || s.verb == "(" || s.verb == "FROM"
}

// parseStatement reads a statement as far as needed. It accepts everything: what is not SQL is for the engine to refuse.
func parseStatement(text string) statement {
	s := statement{text: text, dataAt: -1, sourceAt: -1}
	lex := lexer{text: text}
	var prev token
	depth, inserted := 0, false
	for {
		t := lex.next()
		if t.kind == tokenEnd {
			if inserted { // neither VALUES nor FORMAT nor SELECT: the data are Values
				s.bare, s.dataAt = true, len(text)
				if prev.is(";") {
					s.dataAt = prev.start
				}
				if s.sourceAt < 0 {
					s.sourceAt = s.dataAt
				}
			}
			return s
		}
		if s.many = prev.is(";"); s.many {
			return s
		}
		if s.verb == "" {
			s.verb = strings.ToUpper(t.text)
			if s.verb == "INSERT" {
				inserted = lex.skipInsertTarget()
				continue
			}
		}
		if t.is("(") && prev.word("input") {
			s.input = true
		}
		switch {
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		case depth != 0 || t.kind != tokenWord:
		case t.word("OUTFILE") && prev.word("INTO"), t.word("INFILE") && prev.word("FROM"):
			s.outfile = true
		case t.word("TOTALS") && prev.word("WITH"):
			s.totals = true
		case t.word("FORMAT"):
			name, ok := lex.formatName(inserted)
			if !ok {
				break
			}
			s.format = name.text
			if inserted {
				s.dataAt = name.end
				if s.sourceAt < 0 {
					s.sourceAt = t.start
				}
				return s
			}
		case !inserted:
		case t.word("SETTINGS"):
			s.sourceAt = t.start
		case t.word("VALUES"):
			s.values, s.dataAt = true, t.end
			if s.sourceAt < 0 {
				s.sourceAt = t.start
			}
			return s
		case t.word("SELECT"), t.word("WITH"), t.word("WATCH"):
			inserted, s.sourceAt = false, -1
		}
		prev = t
	}
}

// awaitsData tells an INSERT that ends where its data would start.
func (s *statement) awaitsData() bool {
	return s.dataAt >= 0 && strings.Trim(s.text[s.dataAt:], " \t\r\n;") == ""
}

// fromFile is the INSERT with its data in a file of this machine.
func (s *statement) fromFile(path string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(path)
	tail := s.text[s.sourceAt:s.dataAt]
	if s.values {
		tail = tail[:len(tail)-len("VALUES")]
	}
	if s.values || s.bare {
		tail = strings.TrimSpace(tail) + " FORMAT Values"
	}
	return s.text[:s.sourceAt] + " FROM INFILE '" + quoted + "' COMPRESSION 'none' " + tail
}
