package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// ServiceQuestion asks which services were seen. An empty Service matches any.
type ServiceQuestion struct {
	Window
	Service     string
	Limit, Skip int
}

// Service is one service and what its hops may be filtered by; each list holds at most 100.
type Service struct {
	Name                  string
	Requests, WithBudget  uint64
	LastSeen              time.Time
	Routes, Stages, Peers []string
}

//go:embed queries/services.sql
var servicesSQL string

// Services answers with the services by name.
func (db *DB) Services(ctx context.Context, q ServiceQuestion) ([]Service, error) {
	var answer []Service
	parameters := q.parameters()
	parameters["service"], parameters["limit"], parameters["skip"] = q.Service, q.Limit, q.Skip
	err := db.ask(ctx, servicesSQL, func(rows driver.Rows) error {
		var s Service
		var seen int64
		if err := rows.Scan(&s.Name, &s.Requests, &s.WithBudget, &seen, &s.Routes, &s.Stages, &s.Peers); err != nil {
			return err
		}
		s.LastSeen = time.Unix(0, seen).UTC()
		answer = append(answer, s)
		return nil
	}, parameters)
	return answer, question("services", err)
}
