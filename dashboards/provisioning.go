package main

// provisioning lets a Grafana whose folder /etc/grafana/provisioning and /var/lib/grafana/dashboards/laxity are mounted from
// here come up with data sources and dashboards. The addresses are those of `laxity up`.
func provisioning() map[string]tree {
	provider := func(s source) tree {
		return tree{
			"name": "laxity-" + s.folder(), "folder": "Laxity", "type": "file", "allowUiUpdates": false,
			"options": tree{"path": "/var/lib/grafana/dashboards/laxity/" + s.folder()},
		}
	}
	return map[string]tree{
		"datasources/laxity.yaml": {"apiVersion": 1, "datasources": []tree{
			{"name": "Laxity metrics", "uid": "laxity-metrics", "type": string(metrics), "access": "proxy", "url": "http://127.0.0.1:9090"},
			{"name": "Laxity spans", "uid": "laxity-spans", "type": string(spans), "access": "proxy",
				"jsonData": tree{"host": "127.0.0.1", "port": 8123, "protocol": "http", "defaultDatabase": "laxity", "username": "default"}},
		}},
		"dashboards/laxity.yaml": {"apiVersion": 1, "providers": []tree{provider(metrics), provider(spans)}},
	}
}
