package storage

import (
	"reflect"
	"regexp"
	"strings"
)

// guarded finds conditions that begin by saying when they hold whatever a row has: ({service:String} = ” OR …), (isNull({late:…}) OR …),
// (empty({places:…}) OR …), some of these together, NOT has({not_service:…}, …).
var guarded = regexp.MustCompile(`\b(AND|WHERE)\s+(?:\(((?:\{\w+:[^}]+\}|isNull|empty|arrayConcat|AND|= ''|[\s(),])+)\s+OR\s|NOT has\((\{\w+:[^}]+\}),)`)

var parameter = regexp.MustCompile(`\{(\w+):`)

// asked leaves out of a statement the conditions that hold because nobody asks for what they compare. The answer is the same, but the
// engine analyses each condition, and plans each subquery in one, which takes longer than to read what most reports read.
func asked(sql string, parameters map[string]any) string {
	var b strings.Builder
	for {
		at := guarded.FindStringSubmatchIndex(sql)
		if at == nil {
			b.WriteString(sql)
			return b.String()
		}
		guard := submatch(sql, at, 2) + submatch(sql, at, 3)
		if strings.Count(guard, "(") != strings.Count(guard, ")") || !unset(guard, parameters) {
			b.WriteString(sql[:at[3]])
			sql = sql[at[3]:]
			continue
		}
		b.WriteString(sql[:at[0]])
		if submatch(sql, at, 1) == "WHERE" {
			b.WriteString("WHERE true")
		}
		open := at[3] + strings.IndexByte(sql[at[3]:], '(')
		sql = sql[open+operand(sql[open:]):]
	}
}

func submatch(s string, at []int, n int) string {
	if at[2*n] < 0 {
		return ""
	}
	return s[at[2*n]:at[2*n+1]]
}

// unset reports whether all parameters of a guard are empty.
func unset(guard string, parameters map[string]any) bool {
	for _, m := range parameter.FindAllStringSubmatch(guard, -1) {
		value, given := parameters[m[1]]
		if !given {
			return false
		}
		if v := reflect.ValueOf(value); v.IsValid() && (v.Kind() != reflect.String && v.Kind() != reflect.Slice || v.Len() > 0) {
			return false
		}
	}
	return true
}

// operand is the length of what stands in the parentheses that a text begins with, and these.
func operand(sql string) int {
	depth := 0
	for i := 0; i < len(sql); i++ {
		switch sql[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case '\'':
			i += 1 + strings.IndexByte(sql[i+1:], '\'')
		}
	}
	return len(sql)
}
