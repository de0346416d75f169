// Package render writes statements for people: terminal text, and the incident record as Markdown.
package render

import (
	"io"

	"github.com/laxity-dev/laxity/internal/verdict"
)

// Text writes the statement for a terminal of so many columns (80 if width is less than 60).
func Text(w io.Writer, s *verdict.Statement, width int) error { return nil }

// Markdown writes the incident record of one trace, fit for a post-mortem.
func Markdown(w io.Writer, s *verdict.Statement) error { return nil }

// List writes one line per statement, worst first, for a terminal of so many columns.
func List(w io.Writer, statements []*verdict.Statement, width int) error { return nil }
