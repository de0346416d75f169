package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/laxity-dev/laxity/internal/classify"
)

// The words of the configuration.
const (
	received = `attributes["deadline.budget.received"]`
	margin   = `attributes["deadline.margin"]`
	ratio    = `attributes["deadline.used.ratio"]`
	late     = `attributes["deadline.late"]`
	outcome  = `attributes["deadline.outcome"]`
	cause    = `attributes["deadline.cancel.cause"]`
	phase    = `attributes["deadline.timeout.phase"]`
	after    = `attributes["deadline.cancel.after"]`
	post     = `attributes["deadline.post_cancel.time"]`
	rule     = `attributes["deadline.inferred.rule"]`
	flags    = `attributes["response_flags"]`
	tag      = `attributes["error"]`
	unsaid   = cause + ` == nil and ` + phase + ` == nil`
	calling  = `(kind == SPAN_KIND_CLIENT or kind == SPAN_KIND_PRODUCER)`
	called   = `(kind == SPAN_KIND_SERVER or kind == SPAN_KIND_CONSUMER)`
	entry    = `(kind == SPAN_KIND_SERVER or kind == SPAN_KIND_CONSUMER or IsRootSpan())`
	isError  = `status.code == STATUS_CODE_ERROR`
	tagged   = `(` + tag + ` != nil and ` + tag + ` != false and ` + tag + ` != "false")`
	seconds  = `Double(end_time_unix_nano - start_time_unix_nano) / 1000000000.0`
	inferred = `set(attributes["deadline.inferred"], true)`
	found    = inferred + ` where ` + cause + ` != nil or ` + phase + ` != nil or ` + outcome + ` == "failed"`
)

// equivalent is the configuration of the transform processor that comes nearest: the same attributes from the same facts, for
// the conventions of today and of before. Conditions keep every group away from the spans that it cannot concern, and the rows
// of one cause and phase are one regular expression, so that it does as little as OTTL allows. agree holds each attribute
// against ours. It leaves out the names of the rules that classify, what a type says only where a text does not tell more,
// which database a code is of, the clean-up beyond its budget, and the logs of OpenTracing.
func equivalent() map[string]any {
	groups := []any{
		group([]string{flags + ` != nil and ` + unsaid},
			says(cause, "local_deadline", `IsMatch(`+flags+`, "(^|,)(UT|UMSDR|DT)(,|$)")`),
			says(phase, "total", cause+` != nil`),
			says(cause, "stream_idle", cause+` == nil and IsMatch(`+flags+`, "(^|,)SI(,|$)")`),
			says(cause, "client_disconnect", cause+` == nil and IsMatch(`+flags+`, "(^|,)(DC|DR)(,|$)")`),
			found,
		),
		group([]string{`attributes["canceled"] == true and attributes["component"] == "proxy" and ` + calling + ` and ` + unsaid},
			says(cause, "upstream_cancel", `true`), inferred),
		group([]string{`(` + isError + ` or attributes["error.type"] != nil or ` + tagged + `) and ` + calling + ` and ` + unsaid},
			texts("", `Concat([attributes["error.type"], attributes["db.response.status_code"], status.message, attributes["error.message"], attributes["exception.message"]], " ")`)...),
		map[string]any{"context": "spanevent",
			"conditions": []string{`name == "exception" and span.status.code == STATUS_CODE_ERROR and span.kind == SPAN_KIND_CLIENT and span.` + cause + ` == nil and span.` + phase + ` == nil`},
			"statements": texts("span.", `Concat([attributes["exception.type"], attributes["exception.message"]], " ")`)},
		group([]string{`(attributes["rpc.grpc.status_code"] > 0 or attributes["grpc.status_code"] > 0 or attributes["rpc.response.status_code"] != nil and attributes["rpc.response.status_code"] != "OK") and ` + unsaid},
			says(phase, "total", grpcIs(4, "DEADLINE_EXCEEDED")+" and "+calling),
			says(cause, "local_deadline", grpcIs(4, "DEADLINE_EXCEEDED")+" and ("+calling+" or "+called+")"),
			says(cause, "upstream_cancel", grpcIs(1, "CANCELLED")+" and ("+calling+" or "+called+")"),
			says(outcome, "failed", outcome+" == nil and "+called+" and ("+grpcIs(2, "UNKNOWN")+" or "+grpcIs(12, "UNIMPLEMENTED")+" or "+grpcIs(13, "INTERNAL")+" or "+grpcIs(14, "UNAVAILABLE")+" or "+grpcIs(15, "DATA_LOSS")+")"),
			found,
		),
		group([]string{`(attributes["http.response.status_code"] >= 400 or attributes["http.status_code"] >= 400) and ` + called + ` and ` + unsaid},
			says(phase, "request", httpIs(408)), says(phase, "connect", httpIs(522)), says(phase, "first_byte", httpIs(524)),
			says(cause, "local_deadline", httpIs(408, 504, 522, 524)),
			says(cause, "client_disconnect", httpIs(460, 499)),
			says(outcome, "failed", unsaid+` and `+outcome+` == nil and not (`+isError+`) and (attributes["http.response.status_code"] >= 500 or attributes["http.status_code"] >= 500)`),
			found,
		),
		group([]string{tagged + ` and ` + called + ` and not (` + isError + `) and ` + outcome + ` == nil and ` + unsaid},
			says(outcome, "failed", `true`), inferred),
	}
	return map[string]any{"error_mode": "ignore", "trace_statements": append(groups, judgement()...)}
}

// judgement is margin, ratio, late, outcome and post-cancel time, with the names of the rules.
func judgement() []any {
	const derivable = margin + ` == nil and (attributes["deadline.governed_by"] == nil or attributes["deadline.governed_by"] != "expiry")`
	target := func(name, time string) string {
		return fmt.Sprintf(`set(%s, %s - attributes[%q]) where %s and attributes["deadline.margin.at"] == %q and attributes[%q] != nil and attributes[%q] <= %s`,
			margin, received, time, derivable, name, time, time, seconds)
	}
	return []any{
		group([]string{received + ` != nil and ` + derivable},
			target("first_output", "deadline.first_output.time"),
			target("validated", "deadline.validated.time"),
			`set(`+margin+`, `+received+` - `+seconds+`) where `+margin+` == nil`,
			`set(`+rule+`, "margin_from_duration")`,
			inferred,
		),
		group([]string{received + ` > 0.0 and ` + margin + ` != nil and ` + ratio + ` == nil`},
			`set(`+ratio+`, (`+received+` - `+margin+`) / `+received+`)`),
		group([]string{outcome + ` == nil and (` + received + ` != nil or ` + entry + ` and (` + cause + ` != nil or ` + isError + `))`},
			says(outcome, "cancelled", cause+` != nil`),
			says(outcome, "rejected", outcome+` == nil and attributes["deadline.budget.source"] == "refused"`),
			says(outcome, "failed", outcome+` == nil and `+isError),
			says(outcome, "done", outcome+` == nil`),
			`set(`+rule+`, Concat([`+rule+`, "outcome_from_status"], ",")) where `+rule+` != nil`,
			`set(`+rule+`, "outcome_from_status") where `+rule+` == nil`,
			inferred,
		),
		group([]string{margin + ` != nil and ` + late + ` == nil`},
			`set(`+late+`, true) where `+margin+` < 0.0 and (`+outcome+` == "done" or `+outcome+` == "done_with_pending" or `+outcome+` == "degraded" or `+outcome+` == "partial")`,
			`set(`+late+`, false) where `+late+` == nil`,
		),
		group([]string{after + ` >= 0.0 and ` + post + ` == nil`},
			`set(`+post+`, `+seconds+` - `+after+`)`,
			`set(`+post+`, `+post+` - attributes["deadline.cleanup.time"]) where attributes["deadline.cleanup.time"] != nil`,
			`set(`+post+`, `+post+` - attributes["deadline.drain.time"]) where attributes["deadline.drain.time"] != nil`,
			`set(`+post+`, 0.0) where `+post+` < 0.0`,
			inferred,
		),
	}
}

func group(conditions []string, statements ...string) map[string]any {
	return map[string]any{"context": "span", "conditions": conditions, "statements": statements}
}

func says(attribute, value, where string) string {
	return fmt.Sprintf("set(%s, %q) where %s", attribute, value, where)
}

func grpcIs(code int, name string) string {
	return fmt.Sprintf(`(attributes["rpc.grpc.status_code"] == %d or attributes["rpc.response.status_code"] == %q or attributes["grpc.status_code"] == %d)`, code, name, code)
}

func httpIs(codes ...int) string {
	var each []string
	for _, code := range codes {
		each = append(each, fmt.Sprintf(`attributes["http.response.status_code"] == %d or attributes["http.status_code"] == %d`, code, code))
	}
	return "(" + strings.Join(each, " or ") + ")"
}

// texts are the rows for types, codes and texts as statements: one regular expression for each cause and phase, on a subject.
func texts(of, subject string) (statements []string) {
	type end struct{ cause, phase string }
	var order []end
	patterns := map[end][]string{}
	for _, row := range classify.BuiltinRows() {
		pattern := regexp.QuoteMeta(row.Type + row.Code)
		if row.Text != "" {
			pattern = strings.ReplaceAll(regexp.QuoteMeta(row.Text), `\*`, ".*")
		}
		if row.Code != "" {
			pattern = `\b` + pattern + `\b`
		}
		e := end{row.Cause, row.Phase}
		if pattern == "" || e == (end{}) {
			continue
		}
		if patterns[e] == nil {
			order = append(order, e)
		}
		patterns[e] = append(patterns[e], pattern)
	}
	// What tells more comes first.
	slices.SortStableFunc(order, func(a, b end) int { return rank(b.cause, b.phase) - rank(a.cause, a.phase) })
	none := of + cause + ` == nil and ` + of + phase + ` == nil`
	for _, e := range order {
		where := fmt.Sprintf(`%s and IsMatch(%s, %q)`, none, subject, "(?i)("+strings.Join(patterns[e], "|")+")")
		switch {
		case e.phase == "":
			statements = append(statements, says(of+cause, e.cause, where))
		case e.cause == "":
			statements = append(statements, says(of+phase, e.phase, where))
		default:
			// The cause comes second and asks only for the phase, or the expression would be searched twice.
			statements = append(statements, says(of+phase, e.phase, where), says(of+cause, e.cause, of+cause+` == nil and `+of+phase+` == "`+e.phase+`"`))
		}
	}
	return append(statements, `set(`+of+`attributes["deadline.inferred"], true) where `+of+cause+` != nil or `+of+phase+` != nil`)
}

func rank(cause, phase string) (n int) {
	if phase != "" {
		n += 2
	}
	if cause != "" {
		n++
	}
	return n
}
