package deadlineconnector

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Results of counting a span, as the connector's own telemetry names them.
var (
	resultCounted   = result("counted")
	resultDuplicate = result("duplicate")
	resultOld       = result("old")
	resultInvalid   = result("invalid_interval")
)

func result(name string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("result", name)))
}

// tell counts what became of the spans of a batch.
func (m *meter) tell(ctx context.Context, counted, duplicate int64, b *batch) {
	for _, r := range [...]struct {
		n      int64
		result metric.MeasurementOption
	}{{counted, resultCounted}, {duplicate, resultDuplicate}, {b.old, resultOld}, {b.invalid, resultInvalid}} {
		if r.n > 0 {
			m.own.ConnectorDeadlineSpans.Add(ctx, r.n, r.result)
		}
	}
}
