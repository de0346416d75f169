package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/laxity-dev/laxity/internal/classify"
)

// equivalent is the configuration of the transform processor that comes nearest: margin, ratio, late and outcome of budgeted
// entries, and cause and phase by the built-in rows. Conditions keep every group away from the spans that it cannot concern,
// and the rows of one cause and phase are one regular expression, so that it does as little as OTTL allows. It leaves out the
// names of the rules, what is said only where a type tells less than a text, and budgets that expire.
func equivalent() map[string]any {
	const budgeted = `attributes["deadline.budget.received"] != nil`
	const spent = `Double(end_time_unix_nano - start_time_unix_nano) / 1000000000.0`
	groups := []any{
		group([]string{budgeted},
			`set(attributes["deadline.margin"], attributes["deadline.budget.received"] - `+spent+`) where attributes["deadline.margin"] == nil`,
			`set(attributes["deadline.used.ratio"], (attributes["deadline.budget.received"] - attributes["deadline.margin"]) / attributes["deadline.budget.received"]) where attributes["deadline.budget.received"] > 0.0`,
			`set(attributes["deadline.late"], true) where attributes["deadline.margin"] < 0.0 and status.code != STATUS_CODE_ERROR`,
			`set(attributes["deadline.late"], false) where attributes["deadline.late"] == nil`,
			`set(attributes["deadline.outcome"], "done") where attributes["deadline.outcome"] == nil and status.code != STATUS_CODE_ERROR`,
			`set(attributes["deadline.inferred"], true)`,
		),
		group([]string{`status.code == STATUS_CODE_ERROR and kind == SPAN_KIND_CLIENT`}, texts()...),
		group([]string{`attributes["rpc.grpc.status_code"] != nil`},
			`set(attributes["deadline.cancel.cause"], "local_deadline") where attributes["rpc.grpc.status_code"] == 4`,
			`set(attributes["deadline.cancel.cause"], "upstream_cancel") where attributes["rpc.grpc.status_code"] == 1`,
			`set(attributes["deadline.timeout.phase"], "total") where attributes["rpc.grpc.status_code"] == 4 and kind == SPAN_KIND_CLIENT`,
		),
		group([]string{`attributes["http.response.status_code"] != nil and kind == SPAN_KIND_SERVER`},
			`set(attributes["deadline.cancel.cause"], "local_deadline") where attributes["http.response.status_code"] == 504 or attributes["http.response.status_code"] == 408`,
			`set(attributes["deadline.cancel.cause"], "client_disconnect") where attributes["http.response.status_code"] == 499`,
			`set(attributes["deadline.outcome"], "failed") where attributes["http.response.status_code"] >= 500 and status.code != STATUS_CODE_ERROR`,
		),
		group([]string{`status.code == STATUS_CODE_ERROR and attributes["deadline.outcome"] == nil and kind == SPAN_KIND_SERVER`},
			`set(attributes["deadline.outcome"], "cancelled") where attributes["deadline.cancel.cause"] != nil`,
			`set(attributes["deadline.outcome"], "failed") where attributes["deadline.outcome"] == nil`,
			`set(attributes["deadline.inferred"], true)`,
		),
	}
	return map[string]any{"error_mode": "ignore", "trace_statements": groups}
}

func group(conditions []string, statements ...string) map[string]any {
	return map[string]any{"context": "span", "conditions": conditions, "statements": statements}
}

// texts are the rows for types and texts as statements: one regular expression for each cause and phase.
func texts() (statements []string) {
	type end struct{ cause, phase string }
	var order []end
	patterns := map[end][]string{}
	for _, row := range classify.BuiltinRows() {
		pattern := regexp.QuoteMeta(row.Type)
		if row.Text != "" {
			pattern = strings.ReplaceAll(regexp.QuoteMeta(row.Text), `\*`, ".*")
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
	for _, e := range order {
		expression := "(?i)(" + strings.Join(patterns[e], "|") + ")"
		where := fmt.Sprintf(`where attributes["deadline.cancel.cause"] == nil and attributes["deadline.timeout.phase"] == nil and IsMatch(Concat([attributes["error.type"], status.message], " "), %q)`, expression)
		if e.cause == "" {
			statements = append(statements, fmt.Sprintf(`set(attributes["deadline.timeout.phase"], %q) %s`, e.phase, where))
			continue
		}
		if e.phase != "" {
			// The cause comes second and asks only for the phase, or the expression would be searched twice.
			statements = append(statements, fmt.Sprintf(`set(attributes["deadline.timeout.phase"], %q) %s`, e.phase, where),
				fmt.Sprintf(`set(attributes["deadline.cancel.cause"], %q) where attributes["deadline.cancel.cause"] == nil and attributes["deadline.timeout.phase"] == %q`, e.cause, e.phase))
			continue
		}
		statements = append(statements, fmt.Sprintf(`set(attributes["deadline.cancel.cause"], %q) %s`, e.cause, where))
	}
	return append(statements, `set(attributes["deadline.inferred"], true) where attributes["deadline.cancel.cause"] != nil`)
}
