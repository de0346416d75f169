package budgetgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetgrpc"
)

// Server and client with budgets.
func Example() {
	server := grpc.NewServer(budgetgrpc.ServerOptions(budget.Policy{Default: 2 * time.Second, Max: 8 * time.Second, Trust: budget.TrustInternal})...)
	grpc_health_v1.RegisterHealthServer(server, service{check: func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	conn, err := grpc.NewClient(l.Addr().String(), append(budgetgrpc.DialOptions(budgetgrpc.WithPeer("health")),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 100 * time.Millisecond}).Start(context.Background(), budget.Arrival{Name: "request"})
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(status.Code(err), errors.Is(err, budget.ErrExhausted))
	entry.End(err)
	// Output: DeadlineExceeded true
}
