//! The statement of evaluation, on a connection that has set the user: texts to make questions of.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::questions::QuestionItem;
use crate::db::UserId;
use crate::embedding::model::SpaceId;

/// A page of the newest items.
pub struct TextPage {
    /// The last item of the previous page: its creation time and id.
    pub after: Option<(OffsetDateTime, i64)>,
    pub limit: i64,
    /// Per text.
    pub chars_max: i32,
}

/// The newest active items that have an embedding in this space, without turns.
pub async fn list_texts(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    page: TextPage,
    now: OffsetDateTime,
) -> Result<Vec<QuestionItem>, sqlx::Error> {
    let (after_at, after_id) = page.after.unzip();
    sqlx::query_as!(
        QuestionItem,
        r#"SELECT i.id AS item_id, i.created_at, left(concat_ws(': ', i.key, i.content), $6) AS "content!" FROM memory_items i
           WHERE i.user_id = $1 AND i.theme_id IS NOT NULL AND is_live(i.status, i.live_until, $7)
             AND ($3::timestamptz IS NULL OR (i.created_at, i.id) < ($3, $4::bigint))
             AND EXISTS (SELECT FROM memory_embeddings e
                         WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = i.id)
           ORDER BY i.created_at DESC, i.id DESC LIMIT $5"#,
        user.0,
        space.0,
        after_at,
        after_id,
        page.limit,
        page.chars_max,
        now,
    )
    .fetch_all(conn)
    .await
}
