//! The statements of requested measurements. Questions are stored until the measurement ends or their memory
//! is erased. Every function takes a connection that has set the user, except [`list_users`].

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::embedding::model::SpaceId;
use crate::evaluation::model::{QuestionRanks, SpaceSide};
use crate::evaluation::questions::OwnQuestion;

/// A measurement in progress.
pub struct MeasurementRequest {
    pub space: SpaceId,
    /// `None`: its model does not answer.
    pub before: Option<SpaceId>,
    pub items: i64,
    /// 0: they are not made yet.
    pub questions: i32,
}

/// False if it was requested before.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    before: SpaceId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "INSERT INTO evaluation_requests (user_id, space_id, before_id, asked_at)
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        user.0,
        space.0,
        before.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes all but the latest `kept` measurements.
pub async fn delete_older(
    conn: &mut PgConnection,
    user: UserId,
    kept: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM evaluation_requests WHERE user_id = $1 AND space_id NOT IN (
             SELECT space_id FROM evaluation_requests WHERE user_id = $1
             ORDER BY asked_at DESC, space_id DESC LIMIT $2)",
        user.0,
        kept,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// As the system role.
pub async fn list_users(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT DISTINCT r.user_id AS "user_id: UserId" FROM evaluation_requests r JOIN users u ON u.id = r.user_id
         WHERE r.ended_at IS NULL AND u.disabled_at IS NULL ORDER BY r.user_id"#
    )
    .fetch_all(conn)
    .await
}

/// The oldest request in progress; none if the user is disabled.
pub async fn find_open(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<MeasurementRequest>, sqlx::Error> {
    sqlx::query_as!(
        MeasurementRequest,
        r#"SELECT space_id AS "space: SpaceId", before_id AS "before: SpaceId", items, questions FROM evaluation_requests
         WHERE user_id = $1 AND ended_at IS NULL
           AND NOT EXISTS (SELECT FROM users WHERE id = $1 AND disabled_at IS NOT NULL)
         ORDER BY asked_at, space_id LIMIT 1"#,
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// If the measurement of this space has ended: why nothing was measured, or `None`.
pub async fn find_ended(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
) -> Result<Option<Option<String>>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT problem FROM evaluation_requests WHERE user_id = $1 AND space_id = $2 AND ended_at IS NOT NULL",
        user.0,
        space.0,
    )
    .fetch_optional(conn)
    .await
}

/// How many answers are stored, and how many there will be.
pub async fn count_answers(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
) -> Result<(i64, i64), sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT count(*) AS "questions!", count(place_before) AS "before!", count(place_now) AS "now!"
           FROM evaluation_questions WHERE user_id = $1 AND space_id = $2"#,
        user.0,
        request.space.0,
    )
    .fetch_one(conn)
    .await?;
    Ok(match request.before {
        Some(_) => (row.before + row.now, 2 * row.questions),
        None => (row.now, row.questions),
    })
}

/// Stores the questions whose items still exist. `is_for_model`: for each question, whether the chat model
/// rephrases it.
pub async fn insert_questions(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    items: i64,
    questions: &[OwnQuestion],
    is_for_model: &[bool],
) -> Result<(), sqlx::Error> {
    let ids: Vec<i64> = questions.iter().map(|question| question.item_id).collect();
    let texts: Vec<&str> = questions.iter().map(|q| q.text.as_str()).collect();
    sqlx::query!(
        "INSERT INTO evaluation_questions (user_id, space_id, number, item_id, question, by_model)
         SELECT $1, $2, q.number, q.item_id, q.question, CASE WHEN NOT q.is_for_model THEN false END
         FROM unnest($3::bigint[], $4::text[], $5::bool[])
              WITH ORDINALITY AS q (item_id, question, is_for_model, number)
         WHERE EXISTS (SELECT 1 FROM memory_items i WHERE i.user_id = $1 AND i.id = q.item_id)
         ON CONFLICT DO NOTHING",
        user.0,
        request.space.0,
        &ids,
        &texts as &[&str],
        is_for_model,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE evaluation_requests SET items = $3, questions = $4 WHERE user_id = $1 AND space_id = $2",
        user.0,
        request.space.0,
        items,
        i32::try_from(questions.len()).unwrap_or(i32::MAX),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Numbers of the questions that the chat model has yet to rephrase, with the beginning of their items.
pub async fn list_for_model(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    limit: i64,
    chars_max: i32,
) -> Result<Vec<(i32, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT q.number, left(concat_ws(': ', i.key, i.content), $4) AS "content!" FROM evaluation_questions q
           JOIN memory_items i ON i.user_id = q.user_id AND i.id = q.item_id
           WHERE q.user_id = $1 AND q.space_id = $2 AND q.by_model IS NULL ORDER BY q.number LIMIT $3"#,
        user.0,
        request.space.0,
        limit,
        chars_max,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.number, row.content)).collect())
}

/// Stores the chat model's questions.
pub async fn put(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    numbers: &[i32],
    texts: &[String],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE evaluation_questions q SET question = p.question, by_model = true
         FROM unnest($3::int[], $4::text[]) AS p (number, question)
         WHERE q.user_id = $1 AND q.space_id = $2 AND q.number = p.number",
        user.0,
        request.space.0,
        numbers,
        texts,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps the questions by words that the chat model has not rephrased.
pub async fn keep_word_questions(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE evaluation_questions SET by_model = false
         WHERE user_id = $1 AND space_id = $2 AND by_model IS NULL",
        user.0,
        request.space.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn add_chat_tokens(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    tokens: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE evaluation_requests SET chat_tokens = chat_tokens + $3 WHERE user_id = $1 AND space_id = $2",
        user.0,
        request.space.0,
        tokens,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The next question for this side, with its number.
pub async fn find_next(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    side: SpaceSide,
) -> Result<Option<(i32, OwnQuestion)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT number, item_id, question, coalesce(by_model, false) AS "by_model!" FROM evaluation_questions
           WHERE user_id = $1 AND space_id = $2
             AND CASE WHEN $3::bool THEN place_before IS NULL ELSE place_now IS NULL END
           ORDER BY number LIMIT 1"#,
        user.0,
        request.space.0,
        side == SpaceSide::Before,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let question =
            OwnQuestion { item_id: row.item_id, text: row.question, is_by_model: row.by_model };
        (row.number, question)
    }))
}

/// The answer of one side.
pub struct SideAnswer {
    pub number: i32,
    pub side: SpaceSide,
    pub place: QuestionRanks,
    pub tokens: i64,
}

pub async fn note_answer(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    answer: &SideAnswer,
) -> Result<(), sqlx::Error> {
    let QuestionRanks { found, by_meaning } = answer.place;
    match answer.side {
        SpaceSide::Before => sqlx::query!(
            "UPDATE evaluation_questions SET place_before = $4, place_before_by_meaning = $5
             WHERE user_id = $1 AND space_id = $2 AND number = $3",
            user.0,
            request.space.0,
            answer.number,
            found,
            by_meaning,
        ),
        SpaceSide::Now => sqlx::query!(
            "UPDATE evaluation_questions SET place_now = $4, place_now_by_meaning = $5
             WHERE user_id = $1 AND space_id = $2 AND number = $3",
            user.0,
            request.space.0,
            answer.number,
            found,
            by_meaning,
        ),
    }
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE evaluation_requests SET embedding_tokens = embedding_tokens + $3, failures = 0
         WHERE user_id = $1 AND space_id = $2",
        user.0,
        request.space.0,
        answer.tokens,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns the number of failures in a row.
pub async fn note_silence(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar!(
        "UPDATE evaluation_requests SET failures = failures + 1
         WHERE user_id = $1 AND space_id = $2 RETURNING failures",
        user.0,
        request.space.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn leave_before_out(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE evaluation_requests SET before_id = NULL, failures = 0 WHERE user_id = $1 AND space_id = $2",
        user.0,
        request.space.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Where a question found its item.
pub struct QuestionComparison {
    pub is_by_model: bool,
    pub before: Option<QuestionRanks>,
    pub now: Option<QuestionRanks>,
}

pub async fn list_found(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
) -> Result<Vec<QuestionComparison>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT coalesce(by_model, false) AS "by_model!", place_before, place_before_by_meaning, place_now,
                  place_now_by_meaning
           FROM evaluation_questions WHERE user_id = $1 AND space_id = $2 ORDER BY number"#,
        user.0,
        request.space.0,
    )
    .fetch_all(conn)
    .await?;
    let place = |found: Option<i32>, by_meaning: Option<i32>| {
        let (found, by_meaning) = found.zip(by_meaning)?;
        Some(QuestionRanks { found, by_meaning })
    };
    Ok(rows
        .into_iter()
        .map(|row| QuestionComparison {
            is_by_model: row.by_model,
            before: place(row.place_before, row.place_before_by_meaning),
            now: place(row.place_now, row.place_now_by_meaning),
        })
        .collect())
}

/// `why`: the reason if nothing was measured.
pub async fn end(
    conn: &mut PgConnection,
    user: UserId,
    request: &MeasurementRequest,
    why: Option<&str>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM evaluation_questions WHERE user_id = $1 AND space_id = $2",
        user.0,
        request.space.0,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE evaluation_requests SET ended_at = $4, problem = $3
         WHERE user_id = $1 AND space_id = $2 AND ended_at IS NULL",
        user.0,
        request.space.0,
        why,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
