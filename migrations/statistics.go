package migrations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

const codeUnknownSetting = 115

// withoutStatistics turns off the column statistics that newer servers compute in every merge: over the hundred columns of
// hops they cost more than the merge. Servers that do not know the setting compute none.
func withoutStatistics(ctx context.Context, conn driver.Conn, cluster string) error {
	hops, on := keeper("hops", cluster)
	rows, err := conn.Query(ctx, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = '"+hops+"'")
	if err != nil {
		return fmt.Errorf("statistics of hops: %w", err)
	}
	defer rows.Close()
	needed := false
	for rows.Next() {
		var engine string
		if err := rows.Scan(&engine); err != nil {
			return fmt.Errorf("statistics of hops: %w", err)
		}
		needed = !strings.Contains(engine, "auto_statistics_types")
	}
	if err := rows.Err(); err != nil || !needed {
		return err
	}
	err = conn.Exec(ctx, "ALTER TABLE "+hops+on+" MODIFY SETTING auto_statistics_types = ''")
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && exception.Code == codeUnknownSetting {
		return nil
	}
	if err != nil {
		return fmt.Errorf("statistics of hops: %w", err)
	}
	return nil
}
