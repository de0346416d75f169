package chdb

import (
	"regexp"
	"strconv"
	"strings"
)

// Codes of ClickHouse exceptions that this product makes or acts on.
const (
	CodeBadArguments         = 36
	CodeNotImplemented       = 48
	CodeSyntax               = 62
	CodeUnknownSetting       = 115
	CodeTooManyQueries       = 202
	CodeMemoryLimit          = 241
	CodeCannotDecompress     = 271
	CodeQueryCancelled       = 394
	CodeCannotParseInput     = 27
	CodeQueryTooLarge        = 307
	CodeAuthenticationFailed = 516
	CodePoco                 = 1000
	CodeUnknownException     = 1002
)

// Error is an exception of the engine.
type Error struct {
	Code    int
	Name    string // TABLE_ALREADY_EXISTS; may be empty
	Message string // as a ClickHouse server writes it: "Code: 57. DB::Exception: … (TABLE_ALREADY_EXISTS)"
}

func (e *Error) Error() string { return e.Message }

var (
	errorPrefix = regexp.MustCompile(`^(?:Code: (\d+)\. DB::Exception: )+`)
	errorSuffix = regexp.MustCompile(`(?: \(version [^()]*\)\. \([A-Z][A-Z0-9_]+\))+$`)
	errorName   = regexp.MustCompile(`\(([A-Z][A-Z0-9_]+)\)`)
)

// parseError reads the engine's text of an exception; causes repeat prefix and suffix, of which one is kept.
func parseError(text string) *Error {
	text = strings.TrimSpace(text)
	if i := strings.Index(text, "Code: "); i > 0 {
		text = text[i:]
	}
	e := &Error{Code: CodeUnknownException}
	if m := errorPrefix.FindStringSubmatch(text); m != nil {
		e.Code, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	text = errorSuffix.ReplaceAllString(text, "")
	if all := errorName.FindAllStringSubmatch(text, -1); all != nil {
		e.Name = all[len(all)-1][1]
	}
	e.Message = "Code: " + strconv.Itoa(e.Code) + ". DB::Exception: " + text
	return e
}
