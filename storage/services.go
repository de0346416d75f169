package storage

import (
	"context"
	_ "embed"
	"time"
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
	return reported(ctx, db, "services", servicesSQL, ReportQuestion{Window: q.Window, Service: q.Service, Limit: q.Limit, Skip: q.Skip}, func(s *Service) []any {
		return []any{&s.Name, &s.Requests, &s.WithBudget, instant{&s.LastSeen}, &s.Routes, &s.Stages, &s.Peers}
	})
}
