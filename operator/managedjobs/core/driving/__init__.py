"""What a controller decides for its one job: launches, endings, recovery, stops."""
